import { Autocomplete, Checkbox, Input, SegmentedControl, SimpleGrid, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { ChannelField } from "../channels/ChannelField";
import { errorAt, type FieldErrors } from "../jobForm/fieldErrors";
import { Card } from "../parts/Card";
import { JOB_NEWS, newsBesidesJobs, type News, newsWord, type Scope } from "./newsWords";
import classes from "./Notifications.module.css";
import type { RuleDraft } from "./ruleDraft";

interface RuleFormProps {
  draft: RuleDraft;
  onChange: (change: Partial<RuleDraft>) => void;
  errors: FieldErrors;
  /** The name of a rule that exists stays: it is not asked for. */
  isNew: boolean;
}

/** For which jobs a rule is, of what it tells, and whom. */
export function RuleForm({ draft, onChange, errors, isNew }: RuleFormProps) {
  return (
    <>
      <Card title="For what">
        <ScopeFields draft={draft} onChange={onChange} errors={errors} isNew={isNew} />
      </Card>
      <Card title="Told of">
        <NewsFields draft={draft} onChange={onChange} errors={errors} isNew={isNew} />
      </Card>
      <Card title="To whom">
        <ChannelField label="Channels" description="All of them are told." value={draft.to} onChange={(to) => onChange({ to })} error={errorAt(errors, "to")} />
      </Card>
    </>
  );
}

function ScopeFields({ draft, onChange, errors, isNew }: RuleFormProps) {
  const queues = useQuery({
    queryKey: ["queues", "names"],
    queryFn: async () => (await answer(api.GET("/v1/queues", { params: { query: { limit: 200 } as never } }))).items.map(({ name }) => name),
    staleTime: 60_000,
    enabled: draft.scope === "queue",
  });
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={16} verticalSpacing={16}>
      {isNew && (
        <TextInput
          label="Name"
          description="Letters, digits, dots, dashes and underscores."
          value={draft.name}
          onChange={(event) => onChange({ name: event.currentTarget.value })}
          error={errorAt(errors, "name")}
          maxLength={100}
          spellCheck={false}
        />
      )}
      <Input.Wrapper label="It is for" description="Which jobs, and whether also pings, queues and machines." labelElement="div" size="xs">
        <div>
          <SegmentedControl
            aria-label="It is for"
            data={[
              { value: "all", label: "Everything" },
              { value: "tag", label: "Jobs with a tag" },
              { value: "queue", label: "A queue" },
            ]}
            value={draft.scope}
            onChange={(scope) => onChange({ scope: scope as Scope })}
          />
        </div>
      </Input.Wrapper>
      {draft.scope === "tag" && (
        <TextInput
          label="Tag"
          description="Of the jobs that it is for."
          value={draft.tag}
          onChange={(event) => onChange({ tag: event.currentTarget.value })}
          error={errorAt(errors, "tag")}
          maxLength={100}
        />
      )}
      {draft.scope === "queue" && (
        <Autocomplete label="Queue" description="Of the jobs that it is for." data={queues.data ?? []} value={draft.queue} onChange={(queue) => onChange({ queue })} error={errorAt(errors, "queue")} />
      )}
    </SimpleGrid>
  );
}

function NewsFields({ draft, onChange, errors }: RuleFormProps) {
  const others = newsBesidesJobs(draft.scope);
  return (
    <Checkbox.Group aria-label="Told of" value={draft.on} onChange={(on) => onChange({ on })} error={errorAt(errors, "on")}>
      <h3 className={classes.newsTitle}>A job, when it is</h3>
      <NewsGrid news={JOB_NEWS} />
      {others.length > 0 && (
        <>
          <h3 className={classes.newsTitle}>{draft.scope === "queue" ? "The queue" : "Everything else"}</h3>
          <NewsGrid news={others} />
        </>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={16} verticalSpacing={16} mt={16}>
        {others.some(({ word }) => word === "dead_letters") && draft.on.includes("dead_letters") && (
          <TextInput
            label="Dead letters above"
            description="Up to this number, nobody is told."
            inputMode="numeric"
            value={draft.deadLettersAbove}
            onChange={(event) => onChange({ deadLettersAbove: event.currentTarget.value })}
            error={errorAt(errors, "dead_letters_above")}
          />
        )}
        {others.some(({ word }) => word === "queue_stuck") && draft.on.includes("queue_stuck") && (
          <TextInput
            label="Stuck after"
            description="Nothing of it has started for this long."
            value={draft.stuckAfter}
            onChange={(event) => onChange({ stuckAfter: event.currentTarget.value })}
            error={errorAt(errors, "stuck_after")}
          />
        )}
      </SimpleGrid>
    </Checkbox.Group>
  );
}

function NewsGrid({ news }: { news: readonly News[] }) {
  return (
    <div className={classes.news}>
      {news.map(({ word, meaning }) => (
        <Checkbox key={word} value={word} label={newsWord(word)} description={meaning} />
      ))}
    </div>
  );
}
