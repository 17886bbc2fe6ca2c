import { type LayoutRequest, placesOf } from "./layout";

/** Lays a graph out beside the page, which stays quick meanwhile. */
self.addEventListener("message", ({ data }: MessageEvent<{ turn: number; request: LayoutRequest }>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no target to name
  self.postMessage({ turn: data.turn, places: placesOf(data.request) });
});
