import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

/** Puts the script that sets light or dark before the first paint into the head, behind <base>: as a file, since the policy of the
 * page allows no inline script, and not as a module, since modules run after the first paint. */
export function colorSchemeScript(source: string): Plugin {
  const text = readFileSync(source, "utf8");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const fileName = `assets/color-scheme-${hash}.js`;
  return {
    name: "color-scheme-script",
    apply: "build",
    generateBundle() {
      this.emitFile({ type: "asset", fileName, source: text });
    },
    transformIndexHtml: () => [{ tag: "script", attrs: { src: `./${fileName}` }, injectTo: "head" }],
  };
}
