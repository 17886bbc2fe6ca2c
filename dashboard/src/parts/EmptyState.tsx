import { CodeBlock } from "./CodeBlock";
import classes from "./EmptyState.module.css";

export interface EmptyStateProps {
  /** "No jobs yet" */
  title: React.ReactNode;
  /** What would be here, and how it gets here. */
  text?: React.ReactNode;
  /** The command that fills it. */
  command?: string;
  /** A button, such as "New job". */
  action?: React.ReactNode;
}

export function EmptyState({ title, text, command, action }: EmptyStateProps) {
  return (
    <div className={classes.empty}>
      <div className={classes.title}>{title}</div>
      {text && <p className={classes.text}>{text}</p>}
      {command && <CodeBlock code={command} what="the command" />}
      {action}
    </div>
  );
}
