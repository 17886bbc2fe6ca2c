import { Button, Textarea, TextInput } from "@mantine/core";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { answer, api } from "../api/client";
import { errorAt, fieldErrorsOf } from "../jobForm/fieldErrors";
import formClasses from "../jobForm/JobForm.module.css";
import { useLater } from "../jobForm/useLater";
import { Card } from "../parts/Card";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { channelDraftOf, channelRequestOf } from "./channelDraft";
import classes from "./Channels.module.css";
import { MessagePreview } from "./MessagePreview";
import type { Channel } from "./useChannels";

/** Those that are used most; the guide has all of them. */
const FIELDS = [
  "title", "severity", "count", "at", "url", "job.name", "job.task", "job.queue", "job.tags", "execution.id", "execution.attempt",
  "execution.error_type", "execution.error_message", "last_execution.id", "channel",
];

interface Texts {
  title: string;
  body: string;
}

/** The texts of a channel, with a sample of what they make, as the server fills it. */
export function ChannelTemplate({ channel }: { channel: Channel }) {
  const queries = useQueryClient();
  const [texts, setTexts] = useState<Texts>({ title: channel.template?.title ?? "", body: channel.template?.body ?? "" });
  const [focused, setFocused] = useState<keyof Texts>("body");
  const fields = { title: useRef<HTMLInputElement>(null), body: useRef<HTMLTextAreaElement>(null) };
  const { name } = channel;
  const save = useMutation({
    mutationFn: async () => answer(api.PUT("/v1/channels/{name}", { params: { path: { name } }, body: channelRequestOf({ ...channelDraftOf(channel), ...texts }) as never })),
    onSuccess: () => {
      toast(`The texts of ${name} are changed`);
      return queries.invalidateQueries({ queryKey: ["channels"] });
    },
  });
  const preview = usePreview(name, texts);
  const errors = fieldErrorsOf(preview.error ?? save.error);
  const isSaved = texts.title === (channel.template?.title ?? "") && texts.body === (channel.template?.body ?? "");
  const put = (field: string) => {
    const input = fields[focused].current;
    const at = input?.selectionStart ?? texts[focused].length;
    const until = input?.selectionEnd ?? at;
    setTexts({ ...texts, [focused]: `${texts[focused].slice(0, at)}{${field}}${texts[focused].slice(until)}` });
    input?.focus();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit} className={classes.template} noValidate>
      <div>
        <Card title="Texts">
        <TextInput
          ref={fields.title}
          label="Title"
          description="Empty: the usual title."
          placeholder="{job.name} failed"
          value={texts.title}
          onChange={(event) => setTexts({ ...texts, title: event.currentTarget.value })}
          onFocus={() => setFocused("title")}
          error={errorAt(errors, "template.title")}
          maxLength={500}
          mb={16}
        />
        <Textarea
          ref={fields.body}
          label="Text"
          description="Empty: what happened, in lines. For each cause, if several are told together."
          placeholder={"{title}\n{url}"}
          value={texts.body}
          onChange={(event) => setTexts({ ...texts, body: event.currentTarget.value })}
          onFocus={() => setFocused("body")}
          error={errorAt(errors, "template.body")}
          classNames={{ input: formClasses.code ?? "" }}
          autosize
          minRows={6}
          maxRows={20}
          maxLength={10_000}
          mb={12}
        />
        <p className={classes.note}>A click puts a field into the text. Write {"{{"} and {"}}"} for braces.</p>
        <ul className={classes.fields}>
          {FIELDS.map((field) => (
            <li key={field}>
              <button type="button" className={classes.field} onClick={() => put(field)}>{`{${field}}`}</button>
            </li>
          ))}
        </ul>
        <div className={formClasses.actions}>
          <Button type="submit" loading={save.isPending} disabled={isSaved}>
            Save the texts
          </Button>
          {(texts.title || texts.body) && (
            <Button variant="subtle" color="gray" onClick={() => setTexts({ title: "", body: "" })}>
              The usual texts
            </Button>
          )}
        </div>
        {Boolean(save.error) && <Problem error={save.error} />}
      </Card>
      </div>
      <div>
        <Card title="Preview">
        <p className={classes.note}>What it sends about a sample execution that failed.</p>
        {preview.data && <MessagePreview content={preview.data} />}
      </Card>
      </div>
    </form>
  );
}

/** The server fills the texts, a moment after somebody stops typing. */
function usePreview(name: string, texts: Texts) {
  const template = useLater({ ...(texts.title ? { title: texts.title } : {}), ...(texts.body ? { body: texts.body } : {}) });
  return useQuery({
    queryKey: ["channels", "preview", name, template],
    queryFn: () => answer(api.POST("/v1/channels/{name}/preview", { params: { path: { name } }, body: { template } as never })),
    placeholderData: keepPreviousData,
    retry: false,
  });
}
