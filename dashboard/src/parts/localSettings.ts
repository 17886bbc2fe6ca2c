const PREFIX = "tickwork-";

/** What this browser remembers. Where storage is refused, the fallback holds for as long as the tab lives. */
export function readSetting<Value>(name: string, fallback: Value): Value {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? fallback : (JSON.parse(text) as Value);
  } catch {
    return fallback;
  }
}

export function writeSetting(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // storage is full or refused: nothing depends on it
  }
}
