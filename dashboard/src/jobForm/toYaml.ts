/** A value of JSON as YAML, in the plain style that people write. */
export function toYaml(value: unknown, depth = 0): string {
  const indent = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return value.map((each) => `${indent}- ${isNested(each) ? toYaml(each, depth + 1).trimStart() : toYaml(each, depth + 1)}`).join("\n");
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    return entries
      .map(([name, each]) => `${indent}${scalar(name)}:${isNested(each) ? `\n${toYaml(each, depth + 1)}` : ` ${toYaml(each, depth + 1)}`}`)
      .join("\n");
  }
  return scalar(value);
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** Text that could be read as something else is quoted; JSON's quotes are YAML's. */
function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const plain = /^[A-Za-z_][\w ./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value) && !value.endsWith(" ");
  return plain ? value : JSON.stringify(value);
}
