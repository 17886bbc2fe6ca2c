"""The examples of docs/reference/schedules.md are what Tickwork says."""

import os
from pathlib import Path
from typing import Any

import msgspec

from support.schedule_reading import NOW
from tickwork.schedule.preview import preview

PAGE = Path(__file__).parents[3] / "docs/reference/schedules.md"
BEGIN, END = "<!-- examples:", "<!-- end of examples -->"
HEAD = "| schedule | means | next |\n|---|---|---|\n"

EXAMPLES: list[str | dict[str, Any]] = [
    "2026-12-24 18:00",
    "in 10 minutes",
    "in 1h30m",
    "tomorrow at 9",
    "next friday at 17:00",
    "tomorrow 9am",
    "24 december 2026 at 6pm",
    "0 9 * * MON-FRI",
    "*/15 * * * *",
    "30 2 * * *",
    "0 0 1,15 * *",
    "0 0 L * *",
    "0 0 LW * *",
    "0 0 15W * *",
    "0 0 * * 5L",
    "0 9 * * MON#2",
    "*/10 * * * * *",
    "0 0 9 1 1 ? 2030",
    "@daily",
    "@every 90s",
    "TZ=Asia/Tokyo 0 9 * * *",
    "every 5m",
    "every hour",
    "every 24 hours",
    "every weekday at 9am",
    "Mon-Fri 09:00",
    "every weekday except friday at 9am",
    "every business day at 9.30 a.m.",
    "every morning",
    "every weekend at 10:30",
    "every monday, wednesday and friday at 8:30am",
    "every day at 9am, 1pm and 5pm",
    "every day at 9:00 and 17:30",
    "every other friday at 17:00",
    "every 3 days at 9",
    "last day of the month at noon",
    "last day of the quarter at 17:00",
    "first monday of the month at 9am",
    "last weekday of the month at 17:00",
    "every month on the 1st and 15th at 9am",
    "every quarter on the 1st at 6am",
    "every december 24 at 6pm",
    "every monday in june and july at 9",
    "every 15 minutes between 9am and 5pm on weekdays",
    "every hour at minute 15 on weekdays",
    "every monday at 9 and every friday at 17:00",
    "every day at 9am in America/New_York",
    "every day at 9am starting 2026-06-01 until 2026-06-30",
    "every day at 9am except weekends and holidays in FR",
    "RRULE:FREQ=WEEKLY;BYDAY=TU,TH;BYHOUR=9;BYMINUTE=0",
    "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=17",
    "DTSTART:20260401T090000 RRULE:FREQ=DAILY;INTERVAL=2;COUNT=3",
    "rate(5 minutes)",
    "cron(0 10 ? * 2-6 *)",
    "Mon *-*-1..7 08:00",
    "*:0/15",
    "2nd,third mon,wed,thu of march 17:00",
    "R5/2026-05-01T00:00:00Z/PT1H",
    "R/2026-01-31T09:00/P1M",
    {"every": "an hour and a half"},
    {"fields": {"hour": 9, "minute": 30, "days_of_week": ["MON", "FRI"]}},
    {"every": "6h", "exclude": {"weekends": True}, "max_runs": 10, "jitter": "30s"},
    {"cron": "30 2 * * *", "dst": {"gap": "skip", "repeat": "twice"}},
    {"any": ["0 9 * * MON", {"every": "12h"}]},
]


def row(schedule: str | dict[str, Any]) -> str:
    found = preview(schedule, None if names_zone(schedule) else "Europe/Paris", now=NOW, count=2)
    text = schedule if isinstance(schedule, str) else msgspec.json.encode(schedule).decode()
    return f"| `{text}` | {found.words} | {', '.join(time.local for time in found.times)} |\n"


def names_zone(schedule: str | dict[str, Any]) -> bool:
    return isinstance(schedule, str) and ("TZ=" in schedule or "America/" in schedule)


def test_the_examples_in_the_docs_are_what_preview_says() -> None:
    assert len(EXAMPLES) >= 40
    table = HEAD + "".join(map(row, EXAMPLES))
    page = PAGE.read_text()
    start = page.index("\n", page.index(BEGIN)) + 1
    if os.environ.get("TICKWORK_UPDATE_DOCS"):
        PAGE.write_text(page[:start] + table + page[page.index(END) :])
    else:
        assert page[start : page.index(END)] == table
