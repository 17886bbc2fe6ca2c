import { createSpotlight, Spotlight } from "@mantine/spotlight";
import "@mantine/spotlight/styles.layer.css";
import { IconBriefcase, IconKeyboard, IconListDetails, IconPlus, IconSearch, IconSunMoon } from "@tabler/icons-react";
import { useDebouncedValue } from "@mantine/hooks";
import { useMantineColorScheme } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { DESTINATIONS } from "./navigation";
import { helpOpened, paletteOpened } from "./overlays";

const [store, actions] = createSpotlight();
const EXECUTION_ID = /^e[0-9a-z]{1,13}-[0-9a-z]{1,13}$/;
const JOBS_SHOWN = 8;

/** Search over jobs, executions by id, pages and commands. Loaded when it is first opened. */
export default function Palette() {
  const [query, setQuery] = useState("");
  useEffect(() => {
    actions.open();
    return actions.close;
  }, []);
  return (
    <Spotlight.Root
      store={store}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={() => paletteOpened.set(false)}
      shortcut={null}
      scrollable
      overlayProps={{ blur: 0, backgroundOpacity: 0.4 }}
      maxHeight={420}
    >
      <Spotlight.Search placeholder="Search jobs, executions by id, pages, commands" leftSection={<IconSearch size={16} />} />
      <Spotlight.ActionsList>
        <Found query={query.trim()} />
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

function Found({ query }: { query: string }) {
  const navigate = useNavigate();
  const pages = DESTINATIONS.filter(({ word }) => matches(word, query));
  const commands = useCommands().filter(({ word }) => matches(word, query));
  const jobs = useFoundJobs(query);
  const isId = EXECUTION_ID.test(query);
  const nothing = pages.length + commands.length + jobs.length === 0 && !isId;
  return (
    <>
      {isId && (
        <Spotlight.ActionsGroup label="Executions">
          <Spotlight.Action
            label={query}
            leftSection={<IconListDetails size={16} />}
            onClick={() => void navigate({ to: "/executions/$id", params: { id: query } })}
          />
        </Spotlight.ActionsGroup>
      )}
      {jobs.length > 0 && (
        <Spotlight.ActionsGroup label="Jobs">
          {jobs.map((job) => (
            <Spotlight.Action
              key={job.id}
              label={job.name ?? job.key ?? job.id}
              description={job.schedule_words}
              leftSection={<IconBriefcase size={16} />}
              onClick={() => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
            />
          ))}
        </Spotlight.ActionsGroup>
      )}
      {pages.length > 0 && (
        <Spotlight.ActionsGroup label="Pages">
          {pages.map(({ to, word, key, icon: Icon }) => (
            <Spotlight.Action
              key={to}
              label={word}
              leftSection={<Icon size={16} />}
              rightSection={<kbd>g {key}</kbd>}
              onClick={() => void navigate({ to })}
            />
          ))}
        </Spotlight.ActionsGroup>
      )}
      {commands.length > 0 && (
        <Spotlight.ActionsGroup label="Commands">
          {commands.map(({ word, icon: Icon, run }) => (
            <Spotlight.Action key={word} label={word} leftSection={<Icon size={16} />} onClick={run} />
          ))}
        </Spotlight.ActionsGroup>
      )}
      {nothing && <Spotlight.Empty>Nothing found for “{query}”</Spotlight.Empty>}
    </>
  );
}

function useFoundJobs(query: string) {
  const [settled] = useDebouncedValue(query, 150);
  const found = useQuery({
    queryKey: ["jobs", "palette", settled],
    queryFn: () => answer(api.GET("/v1/jobs", { params: { query: { q: settled, limit: JOBS_SHOWN } } })),
    enabled: settled.length > 1,
    placeholderData: keepPreviousData,
  });
  return settled.length > 1 ? (found.data?.items ?? []) : [];
}

const NEW = [
  { word: "New job", to: "/jobs/new" },
  { word: "New ping", to: "/pings/new" },
  { word: "New channel", to: "/channels/new" },
  { word: "New notification rule", to: "/notification-rules/new" },
] as const;

function useCommands() {
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const { toggleColorScheme } = useMantineColorScheme();
  return [
    ...(mayWrite ? NEW.map(({ word, to }) => ({ word, icon: IconPlus, run: () => void navigate({ to }) })) : []),
    { word: "Light or dark", icon: IconSunMoon, run: toggleColorScheme },
    { word: "Keys", icon: IconKeyboard, run: () => helpOpened.set(true) },
  ];
}

function matches(word: string, query: string): boolean {
  return word.toLowerCase().includes(query.toLowerCase());
}
