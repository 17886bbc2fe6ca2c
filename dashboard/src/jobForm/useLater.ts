import { useEffect, useState } from "react";

/** The value as it was when it last stood still for a while: asking the server at every key stroke helps nobody. */
export function useLater<Value>(value: Value, milliseconds = 300): Value {
  const text = JSON.stringify(value);
  const [later, setLater] = useState(text);
  useEffect(() => {
    if (later === text) return undefined;
    const timer = setTimeout(() => setLater(text), milliseconds);
    return () => clearTimeout(timer);
  }, [text, later, milliseconds]);
  return JSON.parse(later) as Value;
}
