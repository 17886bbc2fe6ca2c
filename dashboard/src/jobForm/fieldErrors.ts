import { ProblemError } from "../api/problem";
import { DraftError } from "./jobDraft";

/** What is wrong, by the path of the field: "schedule", "http.url", "payload.to". */
export type FieldErrors = ReadonlyMap<string, string>;

export const NO_ERRORS: FieldErrors = new Map();

export function fieldErrorsOf(error: unknown): FieldErrors {
  if (error instanceof DraftError) return new Map([[error.path, error.message]]);
  if (!(error instanceof ProblemError)) return NO_ERRORS;
  const found = new Map<string, string>();
  for (const { path, message, hint } of error.problem.errors ?? []) {
    if (!path) continue;
    const words = [message, hint].filter(Boolean).join(". ");
    found.set(path, [found.get(path), words].filter(Boolean).join("; "));
  }
  return found;
}

/** The errors of a field and of all parts of it; undefined if there are none, as inputs want it. */
export function errorAt(errors: FieldErrors, path: string): string | undefined {
  const found = [...errors].flatMap(([at, words]) => {
    if (at === path) return [words];
    return at.startsWith(`${path}.`) || at.startsWith(`${path}[`) ? [`${at.slice(path.length + 1)} ${words}`] : [];
  });
  return found.length > 0 ? found.join("; ") : undefined;
}
