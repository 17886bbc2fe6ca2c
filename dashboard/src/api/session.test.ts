import { expect, test } from "vitest";
import { may } from "./session";

const me = (...scopes: string[]) => ({ tenant: "default", key: "k", scopes, expires_at: null });

test("each scope includes those below it", () => {
  expect(may(me("admin"), "read")).toBe(true);
  expect(may(me("write"), "read")).toBe(true);
  expect(may(me("read"), "write")).toBe(false);
  expect(may(me("write"), "admin")).toBe(false);
});

test("nobody may do nothing, and a worker may not look", () => {
  expect(may(null, "read")).toBe(false);
  expect(may(me("worker"), "read")).toBe(false);
});
