/** Something that wants a slot from a time on, for as long as it usually takes. Milliseconds. */
export interface Wanted {
  at: number;
  length: number;
}

/** From this time on, so many want a slot at once. */
export interface Level {
  at: number;
  wanted: number;
}

/** A time in which more want a slot than there are. */
export interface Shortage {
  from: number;
  /** When the last of those that had to wait starts. */
  until: number;
  /** The most at once. */
  wanted: number;
  slots: number;
  /** How late the last one starts, in milliseconds. */
  latest: number;
}

/** How many slots would be in use at each time, were there enough of them. */
export function expectedConcurrency(wanted: readonly Wanted[]): Level[] {
  const changes = new Map<number, number>();
  for (const { at, length } of wanted) {
    changes.set(at, (changes.get(at) ?? 0) + 1);
    const end = at + Math.max(1, length);
    changes.set(end, (changes.get(end) ?? 0) - 1);
  }
  let current = 0;
  return [...changes.keys()]
    .toSorted((one, other) => one - other)
    .map((at) => ({ at, wanted: (current += changes.get(at) ?? 0) }));
}

/** The most at once in each of `count` equal parts of a range. */
export function peaks(levels: readonly Level[], from: number, until: number, count: number): number[] {
  const found = Array.from({ length: count }, () => 0);
  const width = (until - from) / count;
  levels.forEach(({ at, wanted }, place) => {
    const end = levels[place + 1]?.at ?? at;
    const first = Math.max(0, Math.floor((at - from) / width));
    const last = Math.min(count - 1, Math.ceil((end - from) / width) - 1);
    for (let part = first; part <= last; part += 1) found[part] = Math.max(found[part] ?? 0, wanted);
  });
  return found;
}

/** Plays through who gets a slot when, first come first served, and tells when somebody has to wait. */
export function shortages(wanted: readonly Wanted[], slots: number, levels = expectedConcurrency(wanted)): Shortage[] {
  if (slots <= 0) return [];
  const free = Array.from({ length: slots }, () => -Infinity); // a heap: the slot that is free first is at the top
  const found: Shortage[] = [];
  for (const { at, length } of wanted.toSorted((one, other) => one.at - other.at)) {
    const start = Math.max(at, free[0] ?? at);
    replaceFirst(free, start + Math.max(1, length));
    if (start > at) note(found, at, start, slots);
  }
  for (const each of found) each.wanted = mostBetween(levels, each.from, each.until);
  return found.filter((each) => each.wanted > slots);
}

function note(found: Shortage[], at: number, start: number, slots: number): void {
  const last = found.at(-1);
  if (last && at <= last.until) {
    last.until = Math.max(last.until, start);
    last.latest = Math.max(last.latest, start - at);
  } else {
    found.push({ from: at, until: start, wanted: 0, slots, latest: start - at });
  }
}

function mostBetween(levels: readonly Level[], from: number, until: number): number {
  let most = 0;
  for (const { at, wanted } of levels) {
    if (at > until) break;
    if (at >= from) most = Math.max(most, wanted);
  }
  return most;
}

function replaceFirst(heap: number[], value: number): void {
  let place = 0;
  for (;;) {
    const left = 2 * place + 1;
    const right = left + 1;
    const child = right < heap.length && (heap[right] ?? 0) < (heap[left] ?? 0) ? right : left;
    const smaller = heap[child];
    if (smaller === undefined || smaller >= value) break;
    heap[place] = smaller;
    place = child;
  }
  heap[place] = value;
}
