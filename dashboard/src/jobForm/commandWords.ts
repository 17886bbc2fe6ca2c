import { DraftError } from "./draftError";

/** A command line as the words of a command: quotes and backslashes as in a shell, and nothing else of it. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let place = 0; place < line.length; place += 1) {
    const each = line.charAt(place);
    const escapes = each === "\\" && quote !== "'" && place + 1 < line.length;
    if (escapes) {
      place += 1;
      word = (word ?? "") + line.charAt(place);
    } else if (quote ? each === quote : each === "'" || each === '"') {
      quote = quote ? "" : each;
      word ??= "";
    } else if (!quote && /\s/.test(each)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + each;
    }
  }
  if (quote) throw new DraftError("command", `has a ${quote} without its end`);
  return word === null ? words : [...words, word];
}

/** The words as a line that reads back as the same. */
export function lineOf(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** One `NAME=value` per line. */
export function variablesOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim());
  return Object.fromEntries(
    lines.map((line) => {
      const equals = line.indexOf("=");
      if (equals < 1) throw new DraftError("env", `“${line}” has no =; write NAME=value`);
      return [line.slice(0, equals).trim(), line.slice(equals + 1)];
    }),
  );
}
