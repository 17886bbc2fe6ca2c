import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";

export type Rule = Schemas["NotificationRuleView"];

/** All notification rules. Their keys begin with the word of what they decide about: see live/affectedQueries.ts. */
export function useRules() {
  return useQuery({
    queryKey: ["channels", "rules"],
    queryFn: async () => (await answer(api.GET("/v1/notification-rules"))).items,
  });
}
