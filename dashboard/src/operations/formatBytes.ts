const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** "812 B", "4.2 MiB", "310 GiB" */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let place = 0;
  while (value >= 1024 && place < UNITS.length - 1) {
    value /= 1024;
    place += 1;
  }
  return `${place > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[place]}`;
}
