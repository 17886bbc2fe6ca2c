import { queryOptions, useQuery } from "@tanstack/react-query";
import { request } from "./client";
import { ProblemError } from "./problem";
import { queryClient } from "./queryClient";

export type Scope = "read" | "write" | "admin";

/** Who is signed in: the answer to GET /v1/me. */
export interface Me {
  tenant: string;
  key: string;
  scopes: string[];
  expires_at: string | null;
}

const SUFFICIENT: Record<Scope, string[]> = {
  read: ["read", "write", "admin"],
  write: ["write", "admin"],
  admin: ["admin"],
};

/** null: nobody is signed in. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async (): Promise<Me | null> => {
    try {
      return await request<Me>("GET", "/v1/me");
    } catch (error) {
      if (error instanceof ProblemError && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 5 * 60_000,
});

export function useMe(): Me | null {
  return useQuery(meQuery).data ?? null;
}

/** Whether the key that is signed in may do what needs this scope. What it may not do is not offered. */
export function useMay(scope: Scope): boolean {
  return may(useMe(), scope);
}

export function may(me: Me | null, scope: Scope): boolean {
  return me !== null && SUFFICIENT[scope].some((each) => me.scopes.includes(each));
}

/** With an API key, or with the token of a link that signs in once. */
export async function signIn(by: { key: string } | { link: string }): Promise<Me> {
  const me = await request<Me>("POST", "/v1/session", by);
  changePerson(me);
  return me;
}

export async function signOut(): Promise<void> {
  await request("DELETE", "/v1/session");
  changePerson(null);
}

/** Who is signed in stays a watched query, so that the shell hears of it; everything else was another person's. */
function changePerson(me: Me | null) {
  queryClient.setQueryData(meQuery.queryKey, me);
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
}
