import { createStore } from "./store";

export interface Question {
  /** "Cancel nightly_etl?" */
  title: string;
  /** What will happen, with names and counts: "The job has no further executions. 3 that are running go on." */
  effect: React.ReactNode;
  /** The word on the button, a verb: "Cancel the job". */
  action: string;
  /** For what cannot be undone. */
  danger?: boolean;
}

/** The question that waits for an answer. */
export const asked = createStore<{ question: Question; settle: (yes: boolean) => void } | null>(null);

/** Asks before what cannot be undone: `if (await confirm({…})) …`. */
export function confirm(question: Question): Promise<boolean> {
  asked.get()?.settle(false);
  return new Promise((resolve) => {
    asked.set({ question, settle: resolve });
  });
}
