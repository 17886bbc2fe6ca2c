import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api } from "../api/client";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import { Card } from "../parts/Card";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { type ChannelDraft, channelDraftOf, channelRequestOf } from "./channelDraft";
import { ChannelForm } from "./ChannelForm";
import { ChannelSnippets } from "./ChannelSnippets";
import type { Channel } from "./useChannels";

/** What a channel is and when it is told, to be changed. */
export function ChannelEdit({ channel }: { channel: Channel }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<ChannelDraft>(() => channelDraftOf(channel));
  const { name } = channel;
  const save = useMutation({
    mutationFn: async () => answer(api.PUT("/v1/channels/{name}", { params: { path: { name } }, body: channelRequestOf(draft) as never })),
    onSuccess: () => {
      toast(`${name} is changed`);
      void queries.invalidateQueries({ queryKey: ["channels"] });
      void navigate({ to: "/channels/$name", params: { name } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const change = (changed: Partial<ChannelDraft>) => {
    setDraft({ ...draft, ...changed });
    if (save.error) save.reset();
  };
  return (
    <form onSubmit={submit} className={classes.page} noValidate>
      <div>
        <ChannelForm draft={draft} onChange={change} errors={fieldErrorsOf(save.error)} isNew={false} />
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
      </div>
      <div className={classes.aside}>
        <Card title="The same channel as">
          <ChannelSnippets draft={draft} />
        </Card>
      </div>
    </form>
  );
}
