import { type JobDraft, NEW_DRAFT } from "./jobDraft";

const NAME = "tickwork-new-job";

/** What was typed for a new job in this tab, so that a reload or a look elsewhere loses nothing. */
export function keptDraft(): JobDraft | null {
  try {
    const text = sessionStorage.getItem(NAME);
    return text === null ? null : { ...NEW_DRAFT, ...(JSON.parse(text) as Partial<JobDraft>) };
  } catch {
    return null;
  }
}

export function keepDraft(draft: JobDraft): void {
  try {
    // Headers and variables may hold secrets: they are typed again.
    sessionStorage.setItem(NAME, JSON.stringify({ ...draft, headers: "", env: "" }));
  } catch {
    // storage is full or refused: nothing depends on it
  }
}

export function forgetDraft(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // as above
  }
}
