/** Reads the JSON Schema of a task's parameters as fields of a form. */
export interface SchemaField {
  name: string;
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "list" | "date-time" | "date" | "json";
  required: boolean;
  /** What it is when left out. */
  fallback?: unknown;
  description?: string;
  choices?: string[];
  minimum?: number;
  maximum?: number;
}

type Schema = Record<string, unknown>;

/** null: the parameters are not described as an object with properties, so JSON is the only form. */
export function fieldsOf(schema: unknown): SchemaField[] | null {
  const root = isSchema(schema) ? resolved(schema, schema) : null;
  if (!root || !isSchema(root["properties"])) return null;
  const required = new Set(Array.isArray(root["required"]) ? (root["required"] as string[]) : []);
  return Object.entries(root["properties"]).map(([name, property]) =>
    fieldOf(name, isSchema(property) ? property : {}, schema as Schema, required.has(name)),
  );
}

function fieldOf(name: string, property: Schema, root: Schema, required: boolean): SchemaField {
  const plain = resolved(property, root);
  return {
    name,
    required,
    ...kindOf(plain, root),
    ...("default" in property ? { fallback: property["default"] } : {}),
    ...(typeof plain["description"] === "string" ? { description: plain["description"] } : {}),
    ...(typeof plain["minimum"] === "number" ? { minimum: plain["minimum"] } : {}),
    ...(typeof plain["maximum"] === "number" ? { maximum: plain["maximum"] } : {}),
  };
}

function kindOf(schema: Schema, root: Schema): Pick<SchemaField, "kind" | "choices"> {
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.every((each) => typeof each === "string")) return { kind: "choice", choices };
  switch (schema["type"]) {
    case "string":
      return { kind: schema["format"] === "date-time" ? "date-time" : schema["format"] === "date" ? "date" : "text" };
    case "integer":
      return { kind: "integer" };
    case "number":
      return { kind: "number" };
    case "boolean":
      return { kind: "boolean" };
    case "array":
      return { kind: isSchema(schema["items"]) && resolved(schema["items"], root)["type"] === "string" ? "list" : "json" };
    default:
      return { kind: "json" };
  }
}

/** Follows $ref, and takes the one choice of an anyOf that is not null. */
function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > 8) return {};
  const ref = schema["$ref"];
  if (typeof ref === "string") {
    const target = ref.replace(/^#\//, "").split("/").reduce<unknown>((at, part) => (isSchema(at) ? at[part] : undefined), root);
    return isSchema(target) ? resolved(target, root, depth + 1) : {};
  }
  const any = schema["anyOf"];
  if (Array.isArray(any)) {
    const others = any.filter((each): each is Schema => isSchema(each) && each["type"] !== "null");
    const [only] = others;
    return others.length === 1 && only ? resolved(only, root, depth + 1) : {};
  }
  return schema;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is wrong with a payload before it is sent: fields that are missing, by name. */
export function missingFields(fields: readonly SchemaField[], payload: unknown): string[] {
  const given = isSchema(payload) ? payload : {};
  return fields.filter(({ name, required }) => required && !(name in given)).map(({ name }) => name);
}

/** The payload with one field changed; undefined takes it away. */
export function withField(payload: unknown, name: string, value: unknown): Record<string, unknown> {
  const { [name]: _old, ...others } = isSchema(payload) ? payload : {};
  return value === undefined ? others : { ...(isSchema(payload) ? payload : {}), [name]: value };
}
