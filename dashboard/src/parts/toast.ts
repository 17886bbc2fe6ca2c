import { createStore } from "./store";
import { randomId } from "./randomId";
import { wordsOf } from "./problemWords";

export interface Toast {
  id: string;
  title?: string;
  message: string;
  undo?: () => void | Promise<unknown>;
  isProblem?: boolean;
}

/** What is being said, oldest first. */
export const toasts = createStore<readonly Toast[]>([]);

const TIME = 4000;
const TIME_TO_UNDO = 8000;
const MOST = 5;

/** Says what was done: "nightly_etl is paused". With `undo`, a button that takes it back. */
export function toast(message: string, undo?: () => void | Promise<unknown>): void {
  const id = say(undo ? { message, undo } : { message });
  setTimeout(() => hideToast(id), undo ? TIME_TO_UNDO : TIME);
}

/** Says that something did not work, and why. It stays until it is closed. */
export function toastProblem(error: unknown): void {
  const { title, detail, errors } = wordsOf(error);
  const fields = errors.map(({ path, message, hint }) => [path, message, hint].filter(Boolean).join(" "));
  say({ title, message: [detail, ...fields].filter(Boolean).join("\n"), isProblem: true });
}

export function hideToast(id: string): void {
  toasts.set(toasts.get().filter((each) => each.id !== id));
}

function say(what: Omit<Toast, "id">): string {
  const id = randomId();
  toasts.set([...toasts.get(), { ...what, id }].slice(-MOST));
  return id;
}
