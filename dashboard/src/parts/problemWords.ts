import { ProblemError } from "../api/problem";

export interface ProblemWords {
  title: string;
  detail: string;
  errors: { path?: string | null; message: string; hint?: string | null }[];
  requestId: string;
}

/** What fetch throws when there is no answer: in Chromium, Firefox and Safari. Other mistakes are TypeErrors, too. */
const NO_ANSWER = /fetch|network|load failed/i;

/** What to say about an error, whatever it is. */
export function wordsOf(error: unknown): ProblemWords {
  if (error instanceof ProblemError) {
    const { title, detail, errors, request_id } = error.problem;
    return { title, detail: detail ?? "", errors: errors ?? [], requestId: request_id ?? "" };
  }
  const detail = error instanceof Error ? error.message : String(error);
  const unreachable = error instanceof TypeError && NO_ANSWER.test(detail);
  return {
    title: unreachable ? "The server cannot be reached" : "This page failed",
    detail: unreachable ? "It may be restarting, or the network is down. What is shown may be old." : detail,
    errors: [],
    requestId: "",
  };
}
