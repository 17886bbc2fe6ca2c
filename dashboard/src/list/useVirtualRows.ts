import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type CSSProperties, type RefObject, useEffect, useLayoutEffect, useState } from "react";
import type { RowList } from "./rowList";

const ROW_HEIGHT = 36;
const SMALLEST = 280; // pixels of a table that scrolls by itself
const BELOW = 21; // pixels kept free under it: the border of the table and the end of the page
const AHEAD = 25; // rows before the end at which the next page is asked for

export interface VirtualRows {
  items: VirtualItem[];
  before: number;
  after: number;
  style: CSSProperties;
  scrollTo: (index: number) => void;
  toTop: (then: () => void) => void;
}

/** Which rows are in sight; asks for the next page when the end comes near. */
export function useVirtualRows<Row>(
  scroller: RefObject<HTMLDivElement | null>,
  list: RowList<Row>,
): VirtualRows {
  const [top, setTop] = useState(0);
  const virtualizer = useVirtualizer({
    count: list.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    initialRect: { width: 1000, height: 800 },
  });
  const isEmpty = list.rows.length === 0;
  useLayoutEffect(() => {
    const measure = () => setTop((scroller.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, [scroller, isEmpty]);
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const nearEnd = list.hasMore && last >= list.rows.length - AHEAD;
  const { loadMore } = list;
  useEffect(() => {
    if (nearEnd) loadMore();
  }, [nearEnd, loadMore]);
  return {
    items,
    before: items[0]?.start ?? 0,
    after: virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0),
    style: { maxHeight: `max(${SMALLEST}px, calc(100dvh - ${top + BELOW}px))` },
    scrollTo: (index) => virtualizer.scrollToIndex(index),
    toTop: (then) => {
      scroller.current?.scrollTo({ top: 0 });
      then();
    },
  };
}
