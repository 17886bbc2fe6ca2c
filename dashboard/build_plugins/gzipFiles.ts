import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const SMALLEST = 1000; // bytes: less gains nothing

/** Writes NAME.gz beside every built script and style sheet, so that the server need not compress anything. */
export function gzipFiles(): Plugin {
  return {
    name: "gzip-files",
    apply: "build",
    writeBundle({ dir }) {
      const folder = join(dir ?? "", "assets");
      for (const name of readdirSync(folder).filter((file) => /\.(js|css|svg)$/.test(file))) {
        const content = readFileSync(join(folder, name));
        if (content.length >= SMALLEST) writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}
