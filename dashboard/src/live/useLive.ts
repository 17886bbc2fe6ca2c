import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import { basePath } from "../api/client";
import { queryClient } from "../api/queryClient";
import { type LiveEvent, type LiveState, LiveStream } from "./LiveStream";
import { QueryRefresher } from "./refreshQueries";

// The pulse is sent only to those who name it.
const KINDS = "execution.*,job.*,breaker.*,worker.*,queue.*,key.*,ping.*,node.*,pulse.*";

async function connect(lastEventId: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(`${basePath}/v1/events?kind=${KINDS}`, {
    signal,
    credentials: "same-origin",
    headers: { accept: "text/event-stream", ...(lastEventId ? { "last-event-id": lastEventId } : {}) },
  });
  if (response.status === 401) queryClient.setQueryData(["me"], null);
  if (!response.ok || !response.body) throw new Error(`the stream was refused: ${response.status}`);
  return response.body;
}

const stream = new LiveStream(connect);
const refresher = new QueryRefresher(queryClient);
stream.onEvent((event) => refresher.add(event.kind));

/** Keeps the tab's one connection open while somebody is signed in and the tab is shown. Used once, by the shell. */
export function useLiveConnection(): void {
  useEffect(() => {
    let opened = false;
    const stopTelling = stream.onOpen(() => {
      if (opened) refresher.addEverything();
      opened = true;
    });
    const look = () => stream.setHidden(document.hidden);
    look();
    document.addEventListener("visibilitychange", look);
    const timer = setInterval(() => stream.checkAge(), 1000);
    stream.start();
    return () => {
      stopTelling();
      document.removeEventListener("visibilitychange", look);
      clearInterval(timer);
      stream.stop();
    };
  }, []);
}

/** How current the page is, and a switch that freezes it. */
export function useLive(): LiveState & { pause: () => void; resume: () => void } {
  const state = useSyncExternalStore(stream.subscribe, stream.getState);
  return { ...state, pause: () => stream.setPaused(true), resume: () => stream.setPaused(false) };
}

/** For figures that grow old without an event, such as ages: how long until they are read again. */
export function every(milliseconds: number): () => number | false {
  return () => (stream.getState().status === "paused" ? false : milliseconds);
}

/** Calls with every event as it arrives, for pages that show more than what the API's lists say. */
export function useLiveEvents(handle: (event: LiveEvent) => void): void {
  const latest = useEffectEvent(handle);
  useEffect(() => stream.onEvent((event) => latest(event)), []);
}
