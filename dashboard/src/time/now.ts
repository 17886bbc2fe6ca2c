import { useEffect, useEffectEvent, useState } from "react";

/** The time, again whenever it matters: `every` gives the milliseconds until then. It rests while the tab is hidden. */
export function useNow(every: (now: Date) => number): Date {
  const [now, setNow] = useState(() => new Date());
  const wait = useEffectEvent(() => every(now));
  useEffect(() => {
    const tick = () => {
      if (!document.hidden) setNow(new Date());
    };
    const timer = setTimeout(tick, wait());
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [now]);
  return now;
}

/** The time, again every second. */
export function useSeconds(): Date {
  return useNow(() => 1000);
}
