/** Seconds in words: "0.4 ms", "42 ms", "4.1 s", "5 min", "3 m 05 s", "2 h 10 m", "3 d 4 h". */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return `−${formatDuration(-seconds)}`;
  if (seconds < 0.00005) return "0 s";
  if (seconds < 0.001) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return whole % 60 === 0 ? `${whole / 60} min` : `${Math.floor(whole / 60)} m ${pad(whole % 60)} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? "" : ` ${pad(minutes % 60)} m`}`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d${hours % 24 === 0 ? "" : ` ${hours % 24} h`}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
