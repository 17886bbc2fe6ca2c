/** Keeps a list still while it changes at its head: rows that came in above what is shown are counted, not shown. */
export interface HeldRows<Row> {
  shown: Row[];
  fresh: number;
}

/** `held` are the ids that are shown, in their order. Rows below the last of them were loaded on purpose. */
export function holdRows<Row>(held: readonly string[], incoming: readonly Row[], idOf: (row: Row) => string): HeldRows<Row> {
  const known = new Set(held);
  const first = incoming.findIndex((row) => known.has(idOf(row)));
  if (held.length === 0 || first === -1) return { shown: [...incoming], fresh: 0 };
  let last = first;
  incoming.forEach((row, place) => {
    if (known.has(idOf(row))) last = place;
  });
  const shown = incoming.filter((row, place) => place > last || known.has(idOf(row)));
  return { shown, fresh: incoming.length - shown.length };
}
