import { MantineProvider } from "@mantine/core";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, test, vi } from "vitest";
import { layoutShapes, type Shape } from "./layoutShapes";
import type { Run } from "./mergeRuns";
import { paintBars } from "./paintBars";
import { TimelineBars } from "./TimelineBars";

const STATES = ["completed", "failed", "running", "retrying", "pending", "skipped", "due"];

/** So many bars of all states, none close enough to another of its state to be joined. */
function shapes(count: number): Shape[] {
  const runs = Array.from({ length: count }, (_, place): Run => {
    const state = STATES[place % STATES.length] ?? "";
    return { state, from: place * 10, until: place * 10 + 8, counts: { [state]: 1 } };
  });
  return layoutShapes([runs], { from: 0, until: count * 10 }, count * 10);
}

function show(count: number): HTMLElement {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  const container = document.createElement("div");
  const bars = <TimelineBars shapes={shapes(count)} width={1000} height={28} />;
  act(() => createRoot(container).render(<MantineProvider>{bars}</MantineProvider>));
  return container;
}

test("up to 2,000 bars are elements", () => {
  const container = show(2000);
  expect(container.querySelectorAll("svg g[data-state]")).toHaveLength(2000);
  expect(container.querySelector("canvas")).toBeNull();
});

test("more bars are painted, and take one element", () => {
  const container = show(2001);
  expect(container.querySelector("canvas")?.dataset["bars"]).toBe("2001");
  expect(container.querySelector("svg")).toBeNull();
});

/** A canvas that notes what is painted on it. */
function notedCanvas(): { canvas: HTMLCanvasElement; calls: Record<string, number> } {
  const calls: Record<string, number> = {};
  const context = new Proxy({} as Record<string, unknown>, {
    get: (target, name: string) => target[name] ?? (() => void (calls[name] = (calls[name] ?? 0) + 1)),
  });
  const canvas = document.createElement("canvas");
  canvas.getContext = (() => context) as unknown as typeof canvas.getContext;
  return { canvas, calls };
}

test("every bar is painted in the pattern of its state", () => {
  const { canvas, calls } = notedCanvas();
  paintBars(canvas, shapes(7 * 500), 35_000, 28);
  expect(calls["fillRect"]).toBe(2 * 500); // completed and running are solid
  expect(calls["fill"]).toBe(500); // failed has a notch
  expect(calls["strokeRect"]).toBe(4 * 500); // retrying, pending, skipped and due are outlines
  expect(calls["clip"]).toBe(500); // skipped is hatched
});

test("a hundred thousand runs can be laid out and painted", () => {
  const { canvas, calls } = notedCanvas();
  const many = shapes(100_000);
  expect(many).toHaveLength(100_000);
  paintBars(canvas, many, 1_000_000, 28);
  expect(calls["fillRect"]).toBeGreaterThan(20_000);
});
