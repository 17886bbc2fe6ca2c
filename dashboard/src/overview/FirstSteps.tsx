import { Button, Title } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useMay } from "../api/session";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import classes from "./overview.module.css";

const TASKS = `# tasks.py
from tickwork import App

app = App()

@app.task(schedule="every 1m")
def hello():
    print("Hello from Tickwork")`;

/** A new installation: what to do to see it work. */
export function FirstSteps() {
  const mayWrite = useMay("write");
  const server = new URL("./", document.baseURI).href.replace(/\/$/, "");
  return (
    <Card>
      <div className={classes.first}>
        <Title order={2}>Nothing runs here yet</Title>
        <p>Three ways to change that. What runs, what ran and what is due then shows here, on one line of time.</p>
        <ol>
          <li>
            <Title order={3}>Call a URL every five minutes</Title>
            <CodeBlock code={`tickwork job create --name "is it alive" --schedule "every 5m" --http ${server}/livez`} what="the command that creates a job" wrap />
          </li>
          <li>
            <Title order={3}>Run a Python function every minute</Title>
            <CodeBlock code={TASKS} what="the file with a task" />
            <CodeBlock code={`tickwork worker tasks:app --server ${server}`} what="the command that starts a worker" wrap />
          </li>
          <li>
            <Title order={3}>Look at an example</Title>
            <CodeBlock code="tickwork up --demo --data-dir demo --port 8081" what="the command that starts the example" wrap />
          </li>
        </ol>
        {mayWrite && (
          <Button component={Link} to="/jobs/new" leftSection={<IconPlus size={14} />}>
            New job
          </Button>
        )}
      </div>
    </Card>
  );
}
