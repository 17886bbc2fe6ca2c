import { expect, it } from "vitest";
import { fieldsOf, missingFields, withField } from "./schemaFields";

const schema = {
  type: "object",
  properties: {
    to: { type: "string", description: "Whom" },
    copies: { type: "integer", default: 1, minimum: 1 },
    level: { $ref: "#/$defs/Level" },
    note: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    names: { type: "array", items: { type: "string" } },
    nested: { type: "object", properties: { a: { type: "string" } } },
    either: { anyOf: [{ type: "string" }, { type: "integer" }] },
  },
  required: ["to"],
  $defs: { Level: { enum: ["low", "high"] } },
};

it("makes a field of each parameter, and JSON of what is nested", () => {
  const kinds = Object.fromEntries((fieldsOf(schema) ?? []).map(({ name, kind }) => [name, kind]));
  expect(kinds).toEqual({ to: "text", copies: "integer", level: "choice", note: "text", names: "list", nested: "json", either: "json" });
});

it("keeps defaults, bounds and what is required", () => {
  const [to, copies] = fieldsOf(schema) ?? [];
  expect(to).toMatchObject({ required: true, description: "Whom" });
  expect(copies).toMatchObject({ required: false, fallback: 1, minimum: 1 });
});

it("follows a reference at the root", () => {
  expect(fieldsOf({ $ref: "#/$defs/P", $defs: { P: { type: "object", properties: { a: { type: "boolean" } } } } })).toEqual([
    { name: "a", kind: "boolean", required: false },
  ]);
});

it("has no fields where nothing is described", () => {
  expect(fieldsOf({})).toBeNull();
  expect(fieldsOf(null)).toBeNull();
});

it("survives references in a circle", () => {
  expect(fieldsOf({ type: "object", properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { $ref: "#/$defs/A" } } })?.[0]?.kind).toBe("json");
});

it("names what is missing", () => {
  expect(missingFields(fieldsOf(schema) ?? [], { copies: 2 })).toEqual(["to"]);
});

it("changes one field and takes one away", () => {
  expect(withField({ a: 1, b: 2 }, "a", 3)).toEqual({ a: 3, b: 2 });
  expect(withField({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
});
