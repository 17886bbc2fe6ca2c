/** What the part of the address after `?` may hold, as text; everything else in it is dropped. */
export function textParams<Name extends string>(...names: Name[]) {
  return (given: Record<string, unknown>): Partial<Record<Name, string>> => {
    const found: Partial<Record<Name, string>> = {};
    for (const name of names) {
      const value = given[name];
      if (typeof value === "string" && value !== "") found[name] = value;
    }
    return found;
  };
}

/** Plain text, as people write it: q=123 is the text 123, not a number in quotes. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(values: Record<string, unknown>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
}
