import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast, toastProblem } from "./toast";

interface Action<Input, Output> {
  act: (input: Input) => Promise<Output>;
  /** What to say afterwards. */
  done: (input: Input, output: Output) => string;
  /** The first words of the query keys that it makes old. */
  changes: readonly string[];
  /** Takes it back, where that is possible. */
  undo?: (input: Input) => Promise<unknown>;
}

/** Something that changes the server: says that it was done, or what went wrong, and refreshes what it changed. */
export function useAction<Input, Output>({ act, done, changes, undo }: Action<Input, Output>) {
  const queries = useQueryClient();
  const refresh = () => Promise.all(changes.map((word) => queries.invalidateQueries({ queryKey: [word] })));
  const takeBack = async (input: Input) => {
    try {
      await undo?.(input);
      await refresh();
    } catch (error) {
      toastProblem(error);
    }
  };
  return useMutation({
    mutationFn: act,
    onSuccess: (output, input) => {
      toast(done(input, output), undo && (() => takeBack(input)));
      return refresh();
    },
    onError: toastProblem,
  });
}
