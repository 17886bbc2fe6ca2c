"""A canonical schedule in plain English."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tickwork.model.duration import format_duration
from tickwork.trigger.cron import read_cron
from tickwork.trigger.due.epoch import from_seconds, to_seconds
from tickwork.trigger.due.wallclock import WallClock
from tickwork.trigger.due.zone import Zone, zone_named
from tickwork.trigger.english.cronwords import cron_words, time_words
from tickwork.trigger.english.names import MONTHS, WEEKDAYS, listed, nth, ordinal, period, several
from tickwork.trigger.rule import Rule, local_anchor, read_rule

_UNITS = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day"}
_UNITS |= {"HOURLY": "hour", "MINUTELY": "minute", "SECONDLY": "second"}
_LOCAL = ("timezone", "start", "end")  # are told in the time of the zone
_DST = {
    "next": "times the clocks skip run when they jump",
    "skip": "times the clocks skip do not run",
    "once": "times they show twice run once",
    "twice": "times they show twice run twice",
}


def describe(canonical: Mapping[str, Any]) -> str:
    parts = canonical.get("any", [canonical])
    zones = sorted({part.get("timezone", "UTC") for part in parts if not part.keys().isdisjoint(_LOCAL)})
    words = ", ".join([_joined(parts), *_of_job(canonical)])
    return f"{words} ({listed(zones)})" if zones else words


def _joined(parts: Sequence[Mapping[str, Any]]) -> str:
    """What limits all of them is told once, at the end. A semicolon parts what "and" would confuse."""
    told = [(_kind(same), ", ".join(_conditions(same[0]))) for same in _together(parts)]
    limits = {limit for _, limit in told}
    clear = len(told) == 1 or not any(" and every " in kind or " and on " in kind for kind, _ in told)
    if len(limits) == 1 and clear:
        return ", ".join(filter(None, [" and ".join(kind for kind, _ in told), *limits]))
    return "; ".join(", ".join(filter(None, part)) for part in told)


def _together(parts: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Times of day on the same days are told together."""
    same_days: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        if "cron" in part:
            days = read_cron(part["cron"]).days
            rest = {name: value for name, value in part.items() if name != "cron"}
            same_days.setdefault(repr((days, sorted(rest.items(), key=str))), []).append(part)
        else:
            same_days[repr(part)] = [part]
    yield from same_days.values()


def _conditions(canonical: Mapping[str, Any]) -> Iterator[str]:
    zone = zone_named(canonical.get("timezone", "UTC"))
    if "start" in canonical:
        yield f"starting {_local(_beginning(canonical, zone), zone)}"
    if "end" in canonical:
        yield f"until {_local(canonical['end'], zone)}"
    if "exclude" in canonical:
        yield f"except {listed(_excluded(canonical['exclude'], zone))}"
    if "dst" in canonical:
        yield f"{_DST[canonical['dst']['gap']]} and {_DST[canonical['dst']['repeat']]}"


def _beginning(canonical: Mapping[str, Any], zone: Zone) -> str:
    """Every 2 weeks on monday is told to start on its first monday, for the week before it counts too."""
    start: str = canonical["start"]
    if "rrule" not in canonical:
        return start
    at = to_seconds(datetime.fromisoformat(start))
    rule = read_rule(canonical["rrule"], local_anchor(at, zone))[0]
    if rule.times is None or rule.days.interval == 1:
        return start
    first = WallClock(zone, rule.days, rule.times, rule.dst).next_after(at - 1)
    return start if first is None else from_seconds(first).isoformat()


def _of_job(canonical: Mapping[str, Any]) -> Iterator[str]:
    if "max_runs" in canonical:
        yield "once in all" if canonical["max_runs"] == 1 else f"at most {canonical['max_runs']} times"
    if "jitter" in canonical:
        yield f"each up to {format_duration(timedelta(seconds=canonical['jitter']))} later"


def _kind(same: Sequence[Mapping[str, Any]]) -> str:
    canonical = same[0]
    if "every" in canonical:
        return f"every {period(canonical['every'])}"
    if "cron" in canonical:
        crons = [read_cron(part["cron"]) for part in same]
        return cron_words([cron.times for cron in crons], crons[0].days, zone_named(canonical["timezone"]))
    start = to_seconds(datetime.fromisoformat(canonical["start"])) if "start" in canonical else None
    anchor = local_anchor(start, zone_named(canonical["timezone"]))
    return _rule_words(read_rule(canonical["rrule"], anchor)[0])


def _rule_words(rule: Rule) -> str:
    days = rule.days
    if days.positions or days.weeks or days.year_days:
        return f"by the rule {rule.text}"
    words = f"every {several(days.interval, _UNITS[days.frequency])}"
    on = [WEEKDAYS[(day + 1) % 7] for day in sorted(days.weekdays)]
    on += [f"the {_nth(n)} {WEEKDAYS[(day + 1) % 7]}" for n, day in sorted(days.nth_weekdays)]
    dates = [
        f"the {ordinal(day) if day > 0 else _from_end(day)}"
        for day in sorted(days.dates, key=lambda d: d % 32)
    ]
    months = listed(MONTHS[month - 1] for month in sorted(days.months)) if days.months else ""
    words += f" on {listed(on)}" if on else ""
    words += f"{' that is' if on else ''} on {listed(dates)}" if dates else ""
    words += f" of {months}" if months and (dates or days.nth_weekdays) else f" in {months}" if months else ""
    return f"{words} {time_words([rule.times]).text}" if rule.times else words


def _nth(number: int) -> str:
    if -1 <= number <= 5:  # noqa: PLR2004 (the named ones)
        return nth(number)
    return ordinal(number) if number > 0 else f"{ordinal(-number)} last"


def _from_end(day: int) -> str:
    return "last day" if day == -1 else f"{ordinal(-day)} last day"


def _excluded(exclude: Mapping[str, Any], zone: Zone) -> Iterator[str]:
    if exclude.get("weekends"):
        yield "weekends"
    if "holidays" in exclude:
        yield f"holidays in {listed(exclude['holidays'])}"
    yield from (_local(day, zone) if "T" in day else day for day in exclude.get("dates", ()))


def _local(instant: str, zone: Zone) -> str:
    at = datetime.fromisoformat(instant).astimezone(zone.info)
    return at.strftime("%Y-%m-%d %H:%M:%S" if at.second else "%Y-%m-%d %H:%M")
