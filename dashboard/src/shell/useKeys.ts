import { useEffect, useEffectEvent } from "react";
import { readSetting, writeSetting } from "../parts/localSettings";
import { createStore, useStore } from "../parts/store";

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const TIME_FOR_SECOND_KEY = 1500;
const singleKeys = createStore(readSetting("single-keys", true));
const handlers = new Set<(sequence: string, event: KeyboardEvent) => void>();
let firstKey: { key: string; at: number } | null = null;

/** Some people's tools type single letters by themselves: they can be switched off. */
export function useSingleKeys(): [boolean, (on: boolean) => void] {
  return [useStore(singleKeys), setSingleKeys];
}

function setSingleKeys(on: boolean): void {
  singleKeys.set(on);
  writeSetting("single-keys", on);
}

/** Calls by key: `{ j: …, "?": …, "g j": … }`. Not while somebody types, or in a dialog. */
export function useKeys(keys: KeyMap, enabled = true): void {
  const handle = useEffectEvent((sequence: string, event: KeyboardEvent) => {
    const action = keys[sequence];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
  useEffect(() => {
    if (!enabled) return undefined;
    const handler = (sequence: string, event: KeyboardEvent) => handle(sequence, event);
    handlers.add(handler);
    return () => {
      handlers.delete(handler);
    };
  }, [enabled]);
}

document.addEventListener("keydown", (event) => {
  if (!isForKeys(event)) return;
  const sequence = sequenceOf(event);
  firstKey = sequence === "g" ? { key: "g", at: Date.now() } : null;
  for (const handler of handlers) handler(sequence, event);
});

function sequenceOf(event: KeyboardEvent): string {
  const isSecond = firstKey?.key === "g" && Date.now() - firstKey.at < TIME_FOR_SECOND_KEY;
  return isSecond ? `g ${event.key}` : event.key;
}

function isForKeys(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return false;
  if (!singleKeys.get() && event.key.length === 1) return false;
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest("input, textarea, select, [contenteditable=true], [role=dialog], [role=listbox], [role=menu]")) return false;
  return !(event.key === "Enter" && target?.closest("a, button, [role=button], summary"));
}
