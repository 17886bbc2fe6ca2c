import { basename } from "node:path";
import type { Plugin } from "vite";

interface FirstLoadChunk {
  plugin: Plugin;
  group: { name: string; test: (id: string) => boolean; minShareCount: number };
}

// Packages whose index leads to everything: what is used of them is in a file of its name.
const INDEX = /@mantine\/(core|hooks)\/esm\/index|@tabler\/icons-react\/dist\/esm\/tabler-icons-react/;
const IMPORT = /import\s*\{([^}]*)\}\s*from\s*"@(?:mantine\/(?:core|hooks)|tabler\/icons-react)"/g;

/**
 * One file for all that the entry and the first page share with other pages. Otherwise the bundler makes a file of every
 * set of modules that the same pages use: forty of them, most of a few hundred bytes, for the first page alone.
 */
export function firstLoadChunk(entries: readonly string[]): FirstLoadChunk {
  const first = new Set<string>();
  const named = new Set<string>();
  return {
    plugin: {
      name: "first-load-chunk",
      apply: "build",
      buildEnd() {
        const waiting = [...this.getModuleIds()].filter((id) => entries.some((entry) => id.endsWith(entry)));
        for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
          if (first.has(id) || INDEX.test(id)) continue;
          first.add(id);
          const { code, importedIds = [] } = this.getModuleInfo(id) ?? {};
          for (const name of namesIn(code ?? "")) named.add(name);
          waiting.push(...importedIds);
        }
      },
    },
    group: { name: "first", test: (id) => first.has(id) || named.has(basename(id)), minShareCount: 2 },
  };
}

/** The files of what is imported by name: Button.mjs, use-computed-color-scheme.mjs */
function namesIn(code: string): string[] {
  const names = [...code.matchAll(IMPORT)].flatMap(([, list = ""]) => list.split(",").map((name) => name.trim().split(" ")[0] ?? ""));
  return names.flatMap((name) => [`${name}.mjs`, `${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.mjs`]);
}
