import { Select, Switch, TagsInput, TextInput } from "@mantine/core";
import { errorAt } from "../jobForm/fieldErrors";
import type { ChannelDraft } from "./channelDraft";
import type { ChannelFormProps } from "./ChannelForm";
import classes from "./Channels.module.css";

const KEPT = "*** keeps the one that is stored, for the same destination.";

/** The fields that only one kind of channel has. */
export function KindFields(props: ChannelFormProps) {
  const secretHint = props.isNew ? "It is shown to nobody afterwards." : KEPT;
  switch (props.draft.kind) {
    case "webhook":
      return (
        <>
          <TextField {...props} field="url" path="url" label="URL" description="Where the POST goes. A token in its query is secret." placeholder="https://example.com/hooks/tickwork" />
          <TextField {...props} field="secret" path="secret" label="Signing secret" description={`Begins with whsec_. Empty: that of the tenant. ${props.isNew ? "" : KEPT}`} />
        </>
      );
    case "slack":
      return <TextField {...props} field="url" path="url" label="Webhook URL" description={`Of an incoming webhook of Slack. ${secretHint}`} placeholder="https://hooks.slack.com/services/…" />;
    case "teams":
      return <TextField {...props} field="url" path="url" label="Workflow URL" description={`Of a workflow that posts to Teams. ${secretHint}`} placeholder="https://…/workflows/…" />;
    case "apprise":
      return <TextField {...props} field="url" path="url" label="Apprise URL" description={`As apprise documents it for the service. ${secretHint}`} placeholder="ntfy://my-topic" />;
    case "pagerduty":
      return (
        <>
          <TextField {...props} field="routingKey" path="routing_key" label="Integration key" description={`Of the Events API v2. ${secretHint}`} />
          <TextField {...props} field="url" path="url" label="API address" description="Empty: that of PagerDuty." placeholder="https://events.pagerduty.com/v2/enqueue" />
        </>
      );
    case "opsgenie":
      return (
        <>
          <TextField {...props} field="apiKey" path="api_key" label="API key" description={`Of an API integration. ${secretHint}`} />
          <TextField {...props} field="url" path="url" label="API address" description="Empty: that of Opsgenie. The European one is https://api.eu.opsgenie.com." placeholder="https://api.opsgenie.com" />
        </>
      );
    case "email":
      return <MailFields {...props} />;
  }
}

function MailFields(props: ChannelFormProps) {
  const { draft, onChange, errors } = props;
  return (
    <>
      <TagsInput
        label="To"
        description="Addresses; Enter adds one."
        value={draft.to}
        onChange={(to) => onChange({ to })}
        error={errorAt(errors, "to")}
        maxTags={50}
        splitChars={[",", ";", " "]}
        acceptValueOnBlur
      />
      <div className={classes.whole}>
        <Switch
          label="A mail server of its own"
          description="Otherwise mails go through the relay in the server’s settings."
          checked={draft.hasServer}
          onChange={(event) => onChange({ hasServer: event.currentTarget.checked })}
        />
        {!draft.hasServer && errorAt(errors, "smtp") && <p className={classes.error}>{`The mail server ${errorAt(errors, "smtp")}`}</p>}
      </div>
      {draft.hasServer && (
        <>
          <TextField {...props} field="host" path="smtp.host" label="Mail server" placeholder="smtp.example.com" />
          <TextField {...props} field="port" path="smtp.port" label="Port" />
          <Select
            label="Encryption"
            data={[
              { value: "starttls", label: "STARTTLS" },
              { value: "tls", label: "TLS" },
              { value: "none", label: "none" },
            ]}
            value={draft.security}
            onChange={(security) => onChange({ security: security ?? "starttls" })}
            allowDeselect={false}
            error={errorAt(errors, "smtp.security")}
          />
          <TextField {...props} field="from" path="from" label="From" placeholder="Tickwork <tickwork@example.com>" />
          <TextField {...props} field="username" path="smtp.username" label="User name" />
          <TextField {...props} field="password" path="smtp.password" label="Password" {...(props.isNew ? {} : { description: KEPT })} />
        </>
      )}
    </>
  );
}

interface TextFieldProps extends ChannelFormProps {
  field: keyof ChannelDraft & ("url" | "secret" | "routingKey" | "apiKey" | "host" | "port" | "username" | "password" | "from");
  path: string;
  label: string;
  description?: string;
  placeholder?: string;
}

const HIDDEN = new Set(["secret", "routingKey", "apiKey", "password"]);

function TextField({ draft, onChange, errors, field, path, label, description, placeholder }: TextFieldProps) {
  return (
    <TextInput
      label={label}
      description={description}
      type={HIDDEN.has(field) ? "password" : "text"}
      value={draft[field]}
      onChange={(event) => onChange({ [field]: event.currentTarget.value })}
      error={errorAt(errors, path)}
      maxLength={2048}
      autoComplete={HIDDEN.has(field) ? "new-password" : "off"}
      spellCheck={false}
      {...(placeholder ? { placeholder } : {})}
    />
  );
}
