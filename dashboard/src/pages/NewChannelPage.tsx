import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { type ChannelDraft, channelRequestOf, NEW_CHANNEL } from "../channels/channelDraft";
import { ChannelForm } from "../channels/ChannelForm";
import { CHANNEL_KINDS, type ChannelKind } from "../channels/channelKinds";
import { ChannelSnippets } from "../channels/ChannelSnippets";
import { allChannels } from "../channels/useChannels";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import { DraftError } from "../jobForm/jobDraft";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { MY_ZONE } from "../time/zone";

const route = getRouteApi("/inside/channels/new");

/** Somewhere new for notifications to go. */
export default function NewChannelPage() {
  const mayWrite = useMay("write");
  if (!mayWrite) return <EmptyState title="This key may not create channels" text="Sign in with a key that has the scope write." />;
  return <NewChannel />;
}

function NewChannel() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { kind } = route.useSearch();
  const [draft, setDraft] = useState<ChannelDraft>({ ...NEW_CHANNEL, quietZone: MY_ZONE, ...(kind && kind in CHANNEL_KINDS ? { kind: kind as ChannelKind } : {}) });
  const create = useMutation({
    mutationFn: async () => {
      const name = draft.name.trim();
      if (!name) throw new DraftError("name", "is needed");
      const body = channelRequestOf(draft);
      if ((await allChannels()).some((channel) => channel.name === name)) throw new DraftError("name", "is taken by another channel");
      return answer(api.PUT("/v1/channels/{name}", { params: { path: { name } }, body: body as never }));
    },
    onSuccess: ({ name }) => {
      toast(`${name} is created: send it a test`);
      void queries.invalidateQueries({ queryKey: ["channels"] });
      void navigate({ to: "/channels/$name", params: { name } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const change = (changed: Partial<ChannelDraft>) => {
    setDraft({ ...draft, ...changed });
    if (create.error) create.reset();
  };
  return (
    <>
      <PageHeader title="New channel" sentence="Where notifications go, and when. Its texts can be changed once it is there." />
      <form onSubmit={submit} className={classes.page} noValidate>
        <div>
          <ChannelForm draft={draft} onChange={change} errors={fieldErrorsOf(create.error)} isNew />
          {Boolean(create.error) && (
            <div className={classes.actions}>
              <Problem error={create.error} />
            </div>
          )}
          <div className={classes.actions}>
            <Button type="submit" loading={create.isPending}>
              Create the channel
            </Button>
          </div>
        </div>
        <div className={classes.aside}>
          <Card title="The same channel as">
            <ChannelSnippets draft={draft} />
          </Card>
        </div>
      </form>
    </>
  );
}
