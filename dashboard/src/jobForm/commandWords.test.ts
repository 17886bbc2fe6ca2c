import { expect, it } from "vitest";
import { lineOf, variablesOf, wordsOf } from "./commandWords";

it("splits words at spaces, unless they are quoted", () => {
  expect(wordsOf(`backup-db  --name "two words" 'it''s' a\\ b ""`)).toEqual(["backup-db", "--name", "two words", "its", "a b", ""]);
});

it("expands nothing: there is no shell", () => {
  expect(wordsOf("echo $HOME *.txt ; ls")).toEqual(["echo", "$HOME", "*.txt", ";", "ls"]);
});

it("writes a line that reads back as the same words", () => {
  const words = ["sh", "-c", `echo "it's $1" | wc`, "", "plain"];
  expect(wordsOf(lineOf(words))).toEqual(words);
});

it("says what is wrong", () => {
  expect(() => wordsOf("echo 'a")).toThrow("without its end");
  expect(() => variablesOf("A=1\nB")).toThrow("NAME=value");
});

it("reads variables, whose values may have an equals sign", () => {
  expect(variablesOf("A=1\n\nB=x=y ")).toEqual({ A: "1", B: "x=y " });
});
