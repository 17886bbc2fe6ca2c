import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api } from "../api/client";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { PingForm } from "./PingForm";
import type { Ping } from "./pingColumns";
import { type PingDraft, pingDraftOf, pingRequestOf } from "./pingDraft";

/** What is expected of a ping, to be changed. */
export function PingEdit({ ping }: { ping: Ping }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<PingDraft>(() => pingDraftOf(ping));
  const { name } = ping;
  const save = useMutation({
    mutationFn: async () => answer(api.PUT("/v1/pings/{name}", { params: { path: { name } }, body: pingRequestOf(draft, ping.notify.slice(1)) as never })),
    onSuccess: () => {
      toast(`${name} is changed`);
      void queries.invalidateQueries({ queryKey: ["pings"] });
      void navigate({ to: "/pings/$name", params: { name } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const change = (changed: Partial<PingDraft>) => {
    setDraft({ ...draft, ...changed });
    if (save.error) save.reset();
  };
  return (
    <form onSubmit={submit} noValidate>
      <PingForm draft={draft} onChange={change} errors={fieldErrorsOf(save.error)} isNew={false} />
      {Boolean(save.error) && (
        <div className={classes.actions}>
          <Problem error={save.error} />
        </div>
      )}
      <div className={classes.actions}>
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
