import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";

export type Channel = Schemas["ChannelView"];

const PAGE = 500;

/** All channels by name: there are few. */
export async function allChannels(): Promise<Channel[]> {
  const found: Channel[] = [];
  let cursor: string | null = null;
  do {
    const query: { limit: number; cursor?: string } = { limit: PAGE, ...(cursor ? { cursor } : {}) };
    // oxlint-disable-next-line no-await-in-loop -- each page names the next
    const page: { items: Channel[]; next_cursor: string | null } = await answer(api.GET("/v1/channels", { params: { query } }));
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

/** The names that can be chosen where somebody is to be told. */
export function useChannelNames(): string[] | undefined {
  const { data } = useQuery({ queryKey: ["channels", "all"], queryFn: allChannels, staleTime: 10_000 });
  return data?.map(({ name }) => name);
}
