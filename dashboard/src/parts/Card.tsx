import { Paper, Title } from "@mantine/core";
import classes from "./Card.module.css";

interface CardProps {
  title?: string;
  /** At the right of the title. */
  actions?: React.ReactNode;
  children: React.ReactNode;
}

/** A surface with a hairline around it. Charts must be on one: page and states are too close in light. */
export function Card({ title, actions, children }: CardProps) {
  return (
    <Paper component="section" className={classes.card} aria-label={title}>
      {title && (
        <div className={classes.head}>
          <Title order={2}>{title}</Title>
          {actions}
        </div>
      )}
      {children}
    </Paper>
  );
}
