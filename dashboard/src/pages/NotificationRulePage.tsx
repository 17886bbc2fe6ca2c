import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { ChannelLink } from "../channels/channelColumns";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import { DeleteRule } from "../notifications/DeleteRule";
import { type RuleDraft, ruleDraftOf, ruleNews, ruleRequestOf, scopeWords } from "../notifications/ruleDraft";
import { RuleForm } from "../notifications/RuleForm";
import type { Rule } from "../notifications/useRules";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { Facts } from "../parts/Facts";
import { PageHeader } from "../parts/PageHeader";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { TimeText } from "../time/TimeText";

const route = getRouteApi("/inside/notification-rules/$name");

/** One rule, to be read or changed. */
export default function NotificationRulePage() {
  const { name } = route.useParams();
  const mayWrite = useMay("write");
  const rule = useQuery({
    queryKey: ["channels", "rule", name],
    queryFn: () => answer(api.GET("/v1/notification-rules/{name}", { params: { path: { name } } })),
  });
  return (
    <Answer query={rule}>
      {(data) => (
        <>
          <PageHeader
            title={data.name}
            sentence={
              <>
                A rule for {scopeWords(data)}, changed <TimeText at={data.changed_at} />.
              </>
            }
            actions={mayWrite && <DeleteRule rule={data} />}
          />
          {mayWrite ? <EditRule key={data.name} rule={data} /> : <RuleFacts rule={data} />}
        </>
      )}
    </Answer>
  );
}

function RuleFacts({ rule }: { rule: Rule }) {
  return (
    <Card>
      <Facts
        facts={[
          ["For", scopeWords(rule)],
          ["Told of", ruleNews(rule)],
          ["To", rule.to.map((name) => <div key={name}><ChannelLink name={name} /></div>)],
          ["Created", <TimeText key="created" at={rule.created_at} />],
        ]}
      />
    </Card>
  );
}

function EditRule({ rule }: { rule: Rule }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [draft, setDraft] = useState<RuleDraft>(() => ruleDraftOf(rule));
  const { name } = rule;
  const save = useMutation({
    mutationFn: async () => answer(api.PUT("/v1/notification-rules/{name}", { params: { path: { name } }, body: ruleRequestOf(draft) as never })),
    onSuccess: () => {
      toast(`The rule ${name} is changed`);
      void queries.invalidateQueries({ queryKey: ["channels"] });
      void navigate({ to: "/notification-rules" });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const change = (changed: Partial<RuleDraft>) => {
    setDraft({ ...draft, ...changed });
    if (save.error) save.reset();
  };
  return (
    <form onSubmit={submit} noValidate>
      <RuleForm draft={draft} onChange={change} errors={fieldErrorsOf(save.error)} isNew={false} />
      {Boolean(save.error) && (
        <div className={classes.actions}>
          <Problem error={save.error} />
        </div>
      )}
      <div className={classes.actions}>
        <Button type="submit" loading={save.isPending}>
          Save the changes
        </Button>
      </div>
    </form>
  );
}
