import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import { DraftError } from "../jobForm/jobDraft";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { NEW_PING, type PingDraft, pingRequestOf } from "../pings/pingDraft";
import { PingForm } from "../pings/PingForm";
import { keepPingUrl } from "../pings/pingUrl";
import { MY_ZONE } from "../time/zone";

/** Something new to be expected. */
export default function NewPingPage() {
  const mayWrite = useMay("write");
  if (!mayWrite) return <EmptyState title="This key may not create pings" text="Sign in with a key that has the scope write." />;
  return <NewPing />;
}

function NewPing() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<PingDraft>({ ...NEW_PING, when: { ...NEW_PING.when, timezone: MY_ZONE } });
  const create = useMutation({
    mutationFn: async () => {
      const name = draft.name.trim();
      if (!name) throw new DraftError("name", "is needed");
      const known = await answer(api.GET("/v1/pings", { params: { query: { q: name, limit: 500 } } }));
      if (known.items.some((ping) => ping.name === name)) throw new DraftError("name", "is taken by another ping");
      return answer(api.PUT("/v1/pings/{name}", { params: { path: { name } }, body: pingRequestOf(draft) as never }));
    },
    onSuccess: (ping) => {
      keepPingUrl(queries, ping.name, ping.url);
      toast(`${ping.name} is expected from now on`);
      void queries.invalidateQueries({ queryKey: ["pings"] });
      void navigate({ to: "/pings/$name", params: { name: ping.name } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const change = (changed: Partial<PingDraft>) => {
    setDraft({ ...draft, ...changed });
    if (create.error) create.reset();
  };
  return (
    <>
      <PageHeader title="New ping" sentence="Something that runs elsewhere, and when it is expected." />
      <form onSubmit={submit} noValidate>
        <PingForm draft={draft} onChange={change} errors={fieldErrorsOf(create.error)} isNew />
        {Boolean(create.error) && (
          <div className={classes.actions}>
            <Problem error={create.error} />
          </div>
        )}
        <div className={classes.actions}>
          <Button type="submit" loading={create.isPending}>
            Create the ping
          </Button>
        </div>
      </form>
    </>
  );
}
