import { useMatches } from "@tanstack/react-router";

export interface Crumb {
  word: string;
  to: string;
}

/** The way to the page that is shown, from the `crumb` of each route. */
export function useCrumbs(): Crumb[] {
  return useMatches().flatMap(({ staticData, params, pathname }) => {
    const { crumb } = staticData as { crumb?: string | ((params: Record<string, string>) => string) };
    if (!crumb) return [];
    return [{ word: typeof crumb === "string" ? crumb : crumb(params as Record<string, string>), to: pathname }];
  });
}
