import { useNavigate } from "@tanstack/react-router";
import type { Filters } from "./FilterBar";
import classes from "./ViewChoice.module.css";

interface ViewChoiceProps {
  /** The path of the list. */
  to: string;
  views: readonly { word: string; filters: Filters }[];
  filters: Filters;
}

/** Filters that are often asked for, one click each. */
export function ViewChoice({ to, views, filters }: ViewChoiceProps) {
  const navigate = useNavigate();
  const current = textOf(filters);
  return (
    <div className={classes.views} role="group" aria-label="Views">
      {views.map(({ word, filters: wanted }) => (
        <button key={word} type="button" className={classes.view} aria-pressed={textOf(wanted) === current} onClick={() => void navigate({ to, search: wanted as never })}>
          {word}
        </button>
      ))}
    </div>
  );
}

function textOf(filters: Filters): string {
  return JSON.stringify(Object.entries(filters).filter(([, value]) => value).toSorted());
}
