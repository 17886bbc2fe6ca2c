import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type LiveEvent, LiveStream } from "./LiveStream";

/** A server whose stream the test writes to. */
class FakeServer {
  asked: (string | null)[] = [];
  refuses = false;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  connect = async (lastEventId: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
    this.asked.push(lastEventId);
    if (this.refuses) throw new Error("refused");
    return new ReadableStream({
      start: (controller) => {
        this.controller = controller;
        signal.addEventListener("abort", () => controller.error(new Error("aborted")));
      },
    });
  };

  send(text: string): Promise<unknown> {
    this.controller?.enqueue(new TextEncoder().encode(text));
    return vi.advanceTimersByTimeAsync(0);
  }

  async end(): Promise<void> {
    this.controller?.close();
    await vi.advanceTimersByTimeAsync(0);
  }
}

let server: FakeServer;
let stream: LiveStream;
let events: LiveEvent[];

beforeEach(async () => {
  vi.useFakeTimers();
  server = new FakeServer();
  stream = new LiveStream(server.connect);
  events = [];
  stream.onEvent((event) => events.push(event));
  stream.start();
  await vi.advanceTimersByTimeAsync(0);
});

afterEach(() => {
  stream.stop();
  vi.useRealTimers();
});

test("events are told while the stream is live", async () => {
  await server.send('id: 3\nevent: job.created\ndata: {"kind":"job.created","at":"x"}\n\n');
  expect(stream.getState().status).toBe("live");
  expect(events.map(({ kind }) => kind)).toEqual(["job.created"]);
});

test("after a broken connection it goes on behind the last event", async () => {
  await server.send("id: 12\n\n");
  await server.end();
  expect(stream.getState().status).toBe("stale");
  await vi.advanceTimersByTimeAsync(1000);
  expect(server.asked).toEqual([null, "12"]);
  expect(stream.getState().status).toBe("live");
});

test("a server that stays away is offline, and the age goes on", async () => {
  const began = stream.getState().freshAt;
  server.refuses = true;
  await server.end();
  await vi.advanceTimersByTimeAsync(90_000);
  expect(stream.getState().status).toBe("offline");
  expect(stream.getState().freshAt).toBe(began);
});

test("a connection that falls silent is given up", async () => {
  await vi.advanceTimersByTimeAsync(41_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(server.asked).toHaveLength(2);
});

test("it rests while the tab is hidden", async () => {
  stream.setHidden(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked).toHaveLength(1);
  stream.setHidden(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(server.asked).toHaveLength(2);
});

test("a pause holds until it is ended", async () => {
  stream.setPaused(true);
  expect(stream.getState().status).toBe("paused");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stream.getState().status).toBe("paused");
  stream.setPaused(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(stream.getState().status).toBe("live");
});
