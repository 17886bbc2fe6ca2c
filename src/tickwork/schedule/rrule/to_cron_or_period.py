"""Turns an RRULE into a cron expression or a period if it has an equal one, so that equal schedules have one form."""

from tickwork.schedule.cron.days import EVERY_DATE, EVERY_MONTH, EVERY_WEEKDAY, CronDays, Dates, Weekdays
from tickwork.schedule.cron.read_expression import Cron
from tickwork.schedule.due.calendar_bit_masks import mask_of
from tickwork.schedule.rrule.days import RecurrenceDays
from tickwork.schedule.rrule.read_rule import RecurrenceRule

_WORKDAYS = frozenset(range(5))
_NTH_OF_MONTH = range(-1, 6)


def simplify_rule(rule: RecurrenceRule) -> int | Cron | RecurrenceRule:
    if rule.times is None:
        return rule if rule.filters_days else rule.step
    days = _cron_days(rule.days)
    return Cron(rule.times, days, rule.dst) if days else rule


def _cron_days(days: RecurrenceDays) -> CronDays | None:
    if days.interval > 1 or days.weeks or days.year_days:
        return None
    months = mask_of(days.months) or EVERY_MONTH
    if days.positions:
        workday = _workday(days)
        return CronDays(workday, EVERY_WEEKDAY, months) if workday else None
    if days.dates and (days.weekdays or days.nth_weekdays):
        return None
    if days.nth_weekdays and not _counts_in_months(days):
        return None
    return CronDays(_dates(days), _weekdays(days), months)


def _workday(days: RecurrenceDays) -> Dates | None:
    """The first or the last workday of a month."""
    if days.frequency != "MONTHLY" or days.weekdays != _WORKDAYS or days.dates or days.nth_weekdays:
        return None
    return {frozenset([1]): Dates(near=1 << 1), frozenset([-1]): Dates(last_workday=True)}.get(days.positions)


def _counts_in_months(days: RecurrenceDays) -> bool:
    by_month = days.frequency == "MONTHLY" or bool(days.months)
    return by_month and all(nth in _NTH_OF_MONTH for nth, _ in days.nth_weekdays)


def _dates(days: RecurrenceDays) -> Dates:
    plain = mask_of(day for day in days.dates if day > 0)
    if not days.dates or plain == EVERY_DATE.plain:
        return EVERY_DATE
    return Dates(plain, mask_of(-day - 1 for day in days.dates if day < 0))


def _weekdays(days: RecurrenceDays) -> Weekdays:
    plain = mask_of((day + 1) % 7 for day in days.weekdays)
    if not (days.weekdays or days.nth_weekdays) or plain == EVERY_WEEKDAY.plain:
        return EVERY_WEEKDAY
    return Weekdays(plain, mask_of(8 * max(nth, 0) + (day + 1) % 7 for nth, day in days.nth_weekdays))
