import type { Schemas } from "../../api/client";

/** Where the payload of an attempt is from, if not simply from its job. */
export function inputWords({ source, version, current_version, is_kept, given_by, attempt }: Schemas["ExecutionInput"]): string | null {
  if (source === "retry") return `Somebody gave this payload to attempt ${attempt} or an earlier one${given_by ? `: ${given_by.name}` : ""}.`;
  if (source === "job") return null;
  const edited = `The job was edited since: it has version ${current_version} now, and this ran with version ${version}.`;
  return is_kept ? edited : `${edited} Its payload is no longer kept.`;
}
