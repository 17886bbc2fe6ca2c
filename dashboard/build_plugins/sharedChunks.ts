import { basename } from "node:path";
import type { Plugin } from "vite";

interface Group {
  name: string;
  test: (id: string) => boolean;
  minShareCount: number;
  priority: number;
  includeDependenciesRecursively: boolean;
}

interface SharedChunks {
  plugin: Plugin;
  groups: Group[];
}

// Packages whose index leads to everything: what is used of them is in a file of its name.
const INDEX = /@mantine\/(core|hooks)\/esm\/index|@tabler\/icons-react\/dist\/esm\/tabler-icons-react/;
const IMPORT = /import\s*\{([^}]*)\}\s*from\s*"@(?:mantine\/(?:core|hooks)|tabler\/icons-react)"/g;

/**
 * For each name one file with all that its modules share with other pages; what several would have is in the first.
 * Otherwise the bundler makes a file of every set of modules that the same pages use: forty of them, most of a few
 * hundred bytes, for the first page alone, and each is a request.
 */
export function sharedChunks(modulesByName: Record<string, readonly string[]>): SharedChunks {
  const parts = Object.entries(modulesByName).map(([name, modules]) => ({ name, modules, reached: new Set<string>() }));
  return {
    plugin: {
      name: "shared-chunks",
      apply: "build",
      buildEnd() {
        const ids = [...this.getModuleIds()];
        for (const { modules, reached } of parts) {
          const waiting = ids.filter((id) => modules.some((module) => id.endsWith(module)));
          for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
            if (reached.has(id) || INDEX.test(id)) continue;
            reached.add(id);
            const { code, importedIds = [] } = this.getModuleInfo(id) ?? {};
            const names = new Set(namesIn(code ?? ""));
            waiting.push(...importedIds, ...ids.filter((other) => names.has(basename(other))));
          }
        }
      },
    },
    groups: parts.map(({ name, reached }, place) => ({
      name,
      test: (id) => reached.has(id),
      minShareCount: 2,
      priority: parts.length - place,
      // What only the entry shares with a page stays in the entry: in a later file, the entry would have to load that.
      includeDependenciesRecursively: place === 0,
    })),
  };
}

/** The files of what is imported by name: Button.mjs, use-computed-color-scheme.mjs */
function namesIn(code: string): string[] {
  const names = [...code.matchAll(IMPORT)].flatMap(([, list = ""]) => list.split(",").map((name) => name.trim().split(" ")[0] ?? ""));
  return names.flatMap((name) => [`${name}.mjs`, `${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.mjs`]);
}
