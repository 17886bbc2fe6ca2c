import { Modal, SimpleGrid, Switch, Title } from "@mantine/core";
import classes from "./KeyboardHelp.module.css";
import { DESTINATIONS } from "./navigation";
import { helpOpened } from "./overlays";
import { useSingleKeys } from "./useKeys";

const COMMAND = navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl";

const ANYWHERE: [string[], string][] = [
  [[COMMAND, "K"], "Search and commands"],
  [["/"], "To the search of the page"],
  [["?"], "These keys"],
];
const LISTS: [string[], string][] = [
  [["j"], "Next row"],
  [["k"], "Row before"],
  [["x"], "Select the row"],
  [["Enter"], "Open the row"],
];

/** Loaded when it is first opened. */
export default function KeyboardHelp() {
  const [single, setSingle] = useSingleKeys();
  return (
    <Modal opened onClose={() => helpOpened.set(false)} title="Keys" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <div>
          <KeyList title="Anywhere" keys={ANYWHERE} />
          <KeyList title="In lists" keys={LISTS} />
        </div>
        <KeyList title="Go to" keys={DESTINATIONS.map(({ key, word }) => [["g", key], word])} />
      </SimpleGrid>
      <Switch mt="md" checked={single} onChange={(event) => setSingle(event.currentTarget.checked)} label="Keys without Ctrl or ⌘ work" />
    </Modal>
  );
}

function KeyList({ title, keys }: { title: string; keys: [string[], string][] }) {
  return (
    <div>
      <Title order={2} className={classes.title}>
        {title}
      </Title>
      <dl className={classes.list}>
        {keys.map(([combination, word]) => (
          <div key={word}>
            <dt>
              {combination.map((each) => (
                <kbd key={each} className={classes.key}>
                  {each}
                </kbd>
              ))}
            </dt>
            <dd>{word}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
