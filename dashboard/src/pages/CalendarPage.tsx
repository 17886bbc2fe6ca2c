import { ActionIcon, Button, SegmentedControl, Skeleton } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { aheadQuery, filterOf, pastQuery } from "../calendar/calendarQueries";
import classes from "../calendar/calendar.module.css";
import { moved, periodOf, periodText, periodWords } from "../calendar/calendarPeriod";
import { CalendarTable } from "../calendar/CalendarTable";
import { type Cell, fillCells } from "../calendar/heatMap";
import { HotSpots } from "../calendar/HotSpots";
import { HourDetail } from "../calendar/HourDetail";
import { Legend } from "../calendar/Legend";
import { MonthGrid, monthParts } from "../calendar/MonthGrid";
import { YearGrid } from "../calendar/YearGrid";
import { FilterBar, type FilterField } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { Card } from "../parts/Card";
import { PageHeader } from "../parts/PageHeader";
import { Problem } from "../parts/Problem";
import { shortTime } from "../time/formatTime";
import { useNow } from "../time/now";
import { wallClock } from "../time/wallClock";
import { monthDays, yearDays } from "../time/zoneDays";
import { useZone } from "../time/zone";

const HOUR = 3_600_000;

const FIELDS: FilterField[] = [
  { name: "job", kind: "search", label: "Job", placeholder: "Job id or key:NAME", width: 160 },
  { name: "task", kind: "text", label: "Task", width: 150 },
  { name: "queue", kind: "text", label: "Queue", width: 110 },
  { name: "tag", kind: "text", label: "Tag", width: 110 },
];

const SENTENCES = { month: "hour by hour. Choose an hour to see its minutes.", year: "day by day. Choose a day to see its month." };

export default function CalendarPage() {
  const [search, change] = useFilters();
  const zone = useZone();
  const now = useNow(() => 60_000).getTime();
  const chosen = Date.parse(search["at"] ?? "") || null;
  const period = periodOf(search["scale"], search["from"] ?? (chosen ? monthOf(chosen, zone) : undefined), now, zone);
  const { scale, year, month } = period;
  const filter = useMemo(() => filterOf(search), [search]);
  const days = useMemo(() => (scale === "year" ? yearDays(year, zone) : monthDays(year, month, zone)), [scale, year, month, zone]);
  const from = days[0]?.start ?? 0;
  const until = days.at(-1)?.end ?? 0;
  const hour = Math.floor(now / HOUR) * HOUR;
  const past = useQuery(pastQuery(from, Math.min(until, hour + HOUR), scale === "year" ? "1d" : "1h", zone, filter));
  const ahead = useQuery(aheadQuery(Math.max(from, hour), until, scale === "year" ? "1d" : "1h", zone, filter));
  const cells = useMemo(() => {
    const parts = scale === "year" ? days.map(({ start, end }) => ({ from: start, until: end })) : monthParts(days, zone);
    return fillCells(parts, from < now ? (past.data?.items ?? []) : [], until > now ? (ahead.data?.items ?? []) : []);
  }, [scale, days, zone, past.data, ahead.data, from, until, now]);
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => scrollToToday(scroller.current), [scale, year, month, past.isLoading, ahead.isLoading]);
  const choose = (cell: Cell) =>
    change(scale === "year" ? { scale: undefined, from: monthOf(cell.from, zone), at: undefined } : { at: new Date(cell.from).toISOString() });
  const go = (by: number) => change({ from: periodText(moved(period, by)), at: undefined });
  const isLoading = past.isLoading || ahead.isLoading;
  const error = past.error ?? ahead.error;
  const Grid = scale === "year" ? YearGrid : MonthGrid;
  const inHour = chosen !== null && scale === "month" ? cells.find((cell) => cell.from <= chosen && chosen < cell.until) : undefined;
  return (
    <>
      <PageHeader title="Calendar" sentence={`What ran, what failed and what is due, ${SENTENCES[scale]}`} />
      <FilterBar fields={FIELDS} value={search} onChange={change}>
        <SegmentedControl
          aria-label="Scale"
          data={[{ value: "month", label: "Month" }, { value: "year", label: "Year" }]}
          value={scale}
          onChange={(value) => change({ scale: value === "year" ? "year" : undefined, from: value === "year" ? String(year) : undefined, at: undefined })}
        />
        <SegmentedControl
          aria-label="View"
          data={[{ value: "map", label: "Heat map" }, { value: "table", label: "Table" }]}
          value={search["view"] === "table" ? "table" : "map"}
          onChange={(value) => change({ view: value === "table" ? "table" : undefined })}
        />
      </FilterBar>
      {error && <Problem error={error} onRetry={() => void Promise.all([past.refetch(), ahead.refetch()])} />}
      <Card>
        <div className={classes.head}>
          <ActionIcon aria-label="Earlier" onClick={() => go(-1)}>
            <IconChevronLeft size={18} />
          </ActionIcon>
          <h2 aria-live="polite">{periodWords(period)}</h2>
          <ActionIcon aria-label="Later" onClick={() => go(1)}>
            <IconChevronRight size={18} />
          </ActionIcon>
          <Button variant="default" onClick={() => change({ from: undefined, at: undefined })}>
            {scale === "year" ? "This year" : "This month"}
          </Button>
          <span className={classes.zone}>{scale === "year" ? "Days" : "Hours"} of {zone}</span>
          <Legend />
        </div>
        {isLoading ? (
          <Skeleton height={520} role="status" aria-label="The figures are being read" />
        ) : search["view"] === "table" ? (
          <CalendarTable cells={cells} filter={filter} />
        ) : (
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
          <div ref={scroller} className={classes.scroller} role="region" aria-label="Heat map, scrolls" tabIndex={0}>
            <Grid days={days} cells={cells} zone={zone} now={now} chosen={inHour?.from ?? null} onChoose={choose} />
          </div>
        )}
        {!isLoading && !error && <HotSpots cells={cells} zone={zone} now={now} scale={scale} onChoose={choose} />}
        <Notes completeSince={past.data?.complete_since ?? null} searchedUntil={ahead.data?.searchedUntil ?? null} estimate={ahead.data?.estimate ?? false} zone={zone} now={now} />
      </Card>
      {inHour && <HourDetail from={inHour.from} until={inHour.until} now={now} zone={zone} filter={filter} onClose={() => change({ at: undefined })} />}
    </>
  );
}

/** On narrow screens the grid scrolls: it begins with today in sight. */
function scrollToToday(element: HTMLElement | null): void {
  const today = element?.querySelector<HTMLElement>("[data-today]");
  if (element && today) element.scrollLeft = today.offsetLeft - element.clientWidth / 2;
}

function monthOf(at: number, zone: string): string {
  const { year, month } = wallClock(at, zone);
  return periodText({ scale: "month", year, month });
}

interface NotesProps {
  completeSince: string | null;
  searchedUntil: string | null;
  estimate: boolean;
  zone: string;
  now: number;
}

/** What the picture does not show as exactly as it seems. */
function Notes({ completeSince, searchedUntil, estimate, zone, now }: NotesProps) {
  const words = (at: string) => shortTime(new Date(at), zone, new Date(now));
  const notes = [
    completeSince && `There are very many executions: not all of those that were due before ${words(completeSince)} are counted.`,
    searchedUntil && `There are very many due times: not all of those after ${words(searchedUntil)} are counted.`,
    estimate && "What is due is an estimate: there are too many jobs to count each.",
  ].filter(Boolean);
  return notes.length > 0 ? <p className={classes.words}>{notes.join(" ")}</p> : null;
}
