import createClient, { type Middleware } from "openapi-fetch";
import { problemOf } from "./problem";
import type { components, paths } from "./schema";

/** The path that Tickwork is reached under, without a slash at its end: "" or, behind a proxy, "/tickwork". */
export const basePath = new URL("./", document.baseURI).pathname.replace(/\/$/, "");

export type Schemas = components["schemas"];

const CSRF = { "tickwork-csrf": "1" }; // a form of another site cannot send a header

const csrf: Middleware = {
  onRequest({ request: sent }) {
    if (sent.method !== "GET") sent.headers.set("tickwork-csrf", "1");
    return sent;
  },
};

/** The API, typed by its own document. `await answer(api.GET("/v1/jobs", …))` gives the data or throws a ProblemError. */
export const api = createClient<paths>({
  baseUrl: basePath || location.origin,
  credentials: "same-origin",
  headers: { accept: "application/json" },
});
api.use(csrf);

interface Outcome<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

export async function answer<Data>(call: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (!response.ok) throw problemOf(response, error);
  return data as Data;
}

/** For what the document does not describe: a request with the session's cookie, and its answer as JSON. */
export async function request<Data>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Data> {
  const response = await fetch(`${basePath}${path}`, {
    method,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      ...(method === "GET" ? {} : CSRF),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed = parse(text);
  if (!response.ok) throw problemOf(response, parsed);
  return parsed as Data;
}

function parse(text: string): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return text;
  }
}
