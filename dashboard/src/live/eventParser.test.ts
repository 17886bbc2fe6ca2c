import { expect, test } from "vitest";
import { EventParser } from "./eventParser";

test("an event that arrives in pieces is read once", () => {
  const parser = new EventParser();
  expect(parser.push("retry: 1000\n\nid: 7\nevent: job.cre")).toEqual([]);
  expect(parser.push('ated\ndata: {"kind":1}\n')).toEqual([]);
  expect(parser.push("\n")).toEqual([{ id: "7", name: "job.created", data: '{"kind":1}' }]);
});

test("comments are no events", () => {
  expect(new EventParser().push(":\n\n:\n\n")).toEqual([]);
});

test("a place without data is told, so that a reconnection misses nothing", () => {
  expect(new EventParser().push("id: 41\n\n")).toEqual([{ id: "41", name: "message", data: "" }]);
});

test("all line ends are read, and several lines of data are one text", () => {
  expect(new EventParser().push("data: a\r\ndata: b\r\n\r\n")).toEqual([{ id: null, name: "message", data: "a\nb" }]);
});
