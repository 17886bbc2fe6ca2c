import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { colorSchemeScript } from "./build_plugins/colorSchemeScript.ts";
import { gzipFiles } from "./build_plugins/gzipFiles.ts";
import { sharedChunks } from "./build_plugins/sharedChunks.ts";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

const shared = sharedChunks({
  first: ["/src/main.tsx", "/src/pages/OverviewPage.tsx"],
  list: ["/src/pages/JobsPage.tsx", "/src/pages/ExecutionsPage.tsx"],
});

export default defineConfig({
  base: "./", // the server may be reached under any path: see <base> in index.html
  plugins: [react(), colorSchemeScript(path("src/shell/colorScheme.js")), shared.plugin, gzipFiles()],
  build: {
    outDir: path("../src/tickwork/api/static/dashboard"),
    emptyOutDir: true,
    manifest: "manifest.json",
    target: "es2022",
    assetsInlineLimit: 0, // the policy of the page allows no data: scripts and styles
    chunkSizeWarningLimit: 400,
    reportCompressedSize: false,
    cssCodeSplit: false, // one small file instead of a dozen tiny ones
    rolldownOptions: { output: { codeSplitting: { groups: shared.groups } } },
  },
  server: {
    proxy: { "/v1": process.env["TICKWORK_URL"] ?? "http://127.0.0.1:8080" },
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    env: { TZ: "Europe/Paris" },
  },
});
