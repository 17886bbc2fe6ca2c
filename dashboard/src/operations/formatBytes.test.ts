import { expect, it } from "vitest";
import { formatBytes } from "./formatBytes";

it("keeps two digits that matter", () => {
  expect([0, 812, 4_400_000, 333_000_000_000].map(formatBytes)).toEqual(["0 B", "812 B", "4.2 MiB", "310 GiB"]);
});
