import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import { DraftError } from "../jobForm/jobDraft";
import { NEW_RULE, type RuleDraft, ruleRequestOf } from "../notifications/ruleDraft";
import { RuleForm } from "../notifications/RuleForm";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";

/** A new rule about who is told of what. */
export default function NewNotificationRulePage() {
  const mayWrite = useMay("write");
  if (!mayWrite) return <EmptyState title="This key may not make rules" text="Sign in with a key that has the scope write." />;
  return <NewRule />;
}

function NewRule() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<RuleDraft>(NEW_RULE);
  const create = useMutation({
    mutationFn: async () => {
      const name = draft.name.trim();
      if (!name) throw new DraftError("name", "is needed");
      const body = ruleRequestOf(draft);
      const known = await answer(api.GET("/v1/notification-rules"));
      if (known.items.some((rule) => rule.name === name)) throw new DraftError("name", "is taken by another rule");
      return answer(api.PUT("/v1/notification-rules/{name}", { params: { path: { name } }, body: body as never }));
    },
    onSuccess: ({ name }) => {
      toast(`The rule ${name} applies from now on`);
      void queries.invalidateQueries({ queryKey: ["channels"] });
      void navigate({ to: "/notification-rules" });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const change = (changed: Partial<RuleDraft>) => {
    setDraft({ ...draft, ...changed });
    if (create.error) create.reset();
  };
  return (
    <>
      <PageHeader title="New notification rule" sentence="For which jobs, of what, and whom it tells." />
      <form onSubmit={submit} noValidate>
        <RuleForm draft={draft} onChange={change} errors={fieldErrorsOf(create.error)} isNew />
        {Boolean(create.error) && (
          <div className={classes.actions}>
            <Problem error={create.error} />
          </div>
        )}
        <div className={classes.actions}>
          <Button type="submit" loading={create.isPending}>
            Create the rule
          </Button>
        </div>
      </form>
    </>
  );
}
