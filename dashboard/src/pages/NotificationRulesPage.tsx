import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMay } from "../api/session";
import { ChannelLink } from "../channels/channelColumns";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { rowsOf } from "../list/rowList";
import { ruleNews, scopeWords } from "../notifications/ruleDraft";
import { type Rule, useRules } from "../notifications/useRules";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { TimeText } from "../time/TimeText";

const COLUMNS: Column<Rule>[] = [
  {
    id: "name",
    header: "Rule",
    width: 160,
    always: true,
    cell: ({ name }) => (
      <Link to="/notification-rules/$name" params={{ name }}>
        {name}
      </Link>
    ),
  },
  { id: "scope", header: "For", width: 180, cell: (rule) => scopeWords(rule) },
  { id: "on", header: "Told of", width: 300, grows: true, cell: (rule) => <span data-tip={ruleNews(rule).replaceAll(", ", "\n")}>{ruleNews(rule)}</span> },
  { id: "to", header: "To", width: 180, cell: ({ to }) => <Channels names={to} /> },
  { id: "changed", header: "Changed", width: 124, cell: ({ changed_at }) => <TimeText at={changed_at} /> },
];

const rowId = ({ name }: Rule) => name;

/** Who is told of what about many jobs at once. */
export default function NotificationRulesPage() {
  const mayWrite = useMay("write");
  const navigate = useNavigate();
  const list = rowsOf(useRules());
  return (
    <>
      <PageHeader
        title="Notification rules"
        sentence="Who is told of what, in addition to what jobs say themselves."
        actions={
          mayWrite && (
            <Button component={Link} to="/notification-rules/new" leftSection={<IconPlus size={14} />}>
              New rule
            </Button>
          )
        }
      />
      <DataTable
        name="notification-rules"
        label="Notification rules"
        noun="rule"
        columns={COLUMNS}
        list={list}
        rowId={rowId}
        onOpen={({ name }) => void navigate({ to: "/notification-rules/$name", params: { name } })}
        empty={
          <EmptyState
            title="No rules yet"
            text="A rule tells channels of what happens to all jobs, to those with a tag, or in a queue."
            command="tickwork notification set-rule all --on failed --on recovered --to CHANNEL"
          />
        }
      />
    </>
  );
}

function Channels({ names }: { names: readonly string[] }) {
  return names.map((name, place) => (
    <span key={name}>
      {place > 0 && ", "}
      <ChannelLink name={name} />
    </span>
  ));
}
