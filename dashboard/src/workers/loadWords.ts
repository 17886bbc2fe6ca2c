import type { Schemas } from "../api/client";
import { formatBytes } from "../operations/formatBytes";

type Load = Schemas["WorkerLoad"];

/** "CPU 40%, memory 52%, disk 91%": how much of its machine is in use, as far as the worker measures it. */
export function loadWords(load: Load | null | undefined): string {
  if (!load) return "–";
  const shares: [string, number | null][] = [
    ["CPU", load.cpu ?? null],
    ["memory", share(load.memory_used, load.memory_total)],
    ["disk", share(load.disk_used, load.disk_total)],
  ];
  return shares.flatMap(([name, value]) => (value === null ? [] : [`${name} ${Math.round(value * 100)}%`])).join(", ") || "–";
}

/** "0.4 CPUs, 120 MiB": what the worker itself uses. */
export function processWords(load: Load | null | undefined): string {
  const cpus = load?.process_cpu ?? null;
  const memory = load?.process_memory ?? null;
  return [cpus === null ? "" : `${cpus} CPUs`, memory === null ? "" : formatBytes(memory)].filter(Boolean).join(", ") || "–";
}

function share(used: number | null | undefined, total: number | null | undefined): number | null {
  return used === null || used === undefined || !total ? null : used / total;
}
