import type { components } from "./schema";

export type ProblemDetails = components["schemas"]["Problem"];

/** An answer of the API that is no success, as application/problem+json says it. */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly problem: ProblemDetails,
  ) {
    super(problem.detail ?? problem.title);
    this.name = "ProblemError";
  }
}

/** The problem of a failed answer, whoever sent it: a proxy in between may answer with something else. */
export function problemOf(response: Response, body: unknown): ProblemError {
  const isProblem = typeof body === "object" && body !== null && "title" in body && "status" in body;
  const problem = isProblem
    ? (body as ProblemDetails)
    : ({
        type: "about:blank",
        title: response.statusText || `The server answered ${response.status}`,
        status: response.status,
        detail: typeof body === "string" ? body.slice(0, 500) : "",
        errors: [],
        request_id: response.headers.get("x-request-id") ?? "",
      } satisfies ProblemDetails);
  return new ProblemError(response.status, problem);
}
