import { Title } from "@mantine/core";
import { useEffect } from "react";
import classes from "./PageHeader.module.css";

interface PageHeaderProps {
  /** Plain text: it is the heading and the title of the tab. */
  title: string;
  /** Beside the heading: a state, a count. */
  beside?: React.ReactNode;
  /** Below it: one sentence that says what this is or how things stand. */
  sentence?: React.ReactNode;
  /** At the right: buttons. */
  actions?: React.ReactNode;
}

export function PageHeader({ title, beside, sentence, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Tickwork`;
  }, [title]);
  return (
    <header className={classes.header}>
      <div className={classes.words}>
        <div className={classes.line}>
          <Title order={1} className={classes.title}>
            {title}
          </Title>
          {beside}
        </div>
        {sentence && <p className={classes.sentence}>{sentence}</p>}
      </div>
      {actions && <div className={classes.actions}>{actions}</div>}
    </header>
  );
}
