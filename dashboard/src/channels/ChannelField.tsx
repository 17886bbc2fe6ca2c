import { MultiSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useChannelNames } from "./useChannels";

interface ChannelFieldProps {
  label: string;
  description?: string;
  value: readonly string[];
  onChange: (channels: string[]) => void;
  error?: string | undefined;
  placeholder?: string;
}

const MOST = 20;

/** Some of the channels. One that is named but gone stays among the choices, so that it can be taken away. */
export function ChannelField({ label, description, value, onChange, error, placeholder = "Choose channels" }: ChannelFieldProps) {
  const names = useChannelNames();
  const known = names ?? [];
  return (
    <MultiSelect
      label={label}
      description={names?.length === 0 ? <NoChannels /> : description}
      data={[...known, ...value.filter((name) => !known.includes(name))]}
      value={[...value]}
      onChange={onChange}
      error={error}
      maxValues={MOST}
      searchable
      hidePickedOptions
      {...(value.length === 0 ? { placeholder } : {})}
    />
  );
}

function NoChannels() {
  return (
    <>
      There is no channel yet. <Link to="/channels/new">Create one</Link> first.
    </>
  );
}
