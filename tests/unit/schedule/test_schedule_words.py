import pytest

from support.schedule_reading import canonical, timing

SENTENCES = [
    "every 5 minutes",
    "every 90 minutes",
    "every second",
    "every day at 09:00",
    "every day at 09:00 and 17:30",
    "every weekday at 09:00",
    "every weekend day at 10:00",
    "every Monday, Wednesday and Friday at 08:30",
    "every Sunday at 23:59:30",
    "every day in June at 09:00",
    "every Monday in June and July at 09:00",
    "every 15 minutes between 09:00 and 17:00 on weekdays",
    "every 10 minutes between 09:00 and 17:50",
    "every hour between 09:00 and 17:00 on Mondays and Fridays",
    "every hour at minute 5 and 35",
    "every hour at minute 15 on weekends",
    "every 2 hours on weekdays",
    "on the 1st and 15th of every month at 09:00",
    "on the last day of every month at 12:00",
    "on the first weekday of every month at 09:00",
    "on the last weekday of every month at 17:00",
    "on the first Monday of every month at 09:00",
    "every 2 weeks on Friday at 17:00",
    "every 3 days at 09:00",
    "every 5 months on the 10th at 08:00",
    "every day at 09:00, starting 2026-06-01 00:00, until 2026-06-30 23:59:59",
    "every day at 09:00, except weekends, holidays in DE-BY and FR and 2026-12-24",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_are_a_sentence_that_means_the_same(sentence: str) -> None:
    found = timing(sentence, "Europe/Paris")
    assert found.words.removesuffix(" (Europe/Paris)") == sentence


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("0 0 15W * *", "on the weekday nearest to the 15th of every month at 00:00"),
        ("0 0 L-3 * *", "on the last day but 3 of every month at 00:00"),
        ("0 0 1 * FRI", "on the 1st of every month and every Friday at 00:00"),
        ("0 0 */15 * MON", "on the 1st, 16th and 31st of every month, if it is Monday, at 00:00"),
        ("0 0 25 12 *", "every year on the 25th of December at 00:00"),
        ("0 0 9 1 1 ? 2030", "on the 1st of January 2030 at 09:00"),
        ("0 0 9 * * ? 2030", "every day in 2030 at 09:00"),
        ("0 0 * * MON,FRI#1", "every Monday and on the first Friday of every month at 00:00"),
        ("5-59/7 8-9 * * *", "at minute 5, 12, 19, 26, 33, 40, 47 and 54 of hour 8 and 9"),
        ("*/5 * * * * *", "every 5 seconds"),
        (
            "*/5 0-29 * * * *",
            "at second 0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50 and 55 of minute 0 to 29 of hour 0 to 23",
        ),
        ("30 1,3 * * 1", "every Monday at 01:30 and 03:30"),
        ("FREQ=YEARLY;BYYEARDAY=100", "by the rule FREQ=YEARLY;BYYEARDAY=100;BYHOUR=0;BYMINUTE=0"),
        ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "every month on Friday that is on the 13th at 00:00"),
        ("FREQ=YEARLY;INTERVAL=2;BYMONTH=6;BYDAY=-1SU", "every 2 years on the last Sunday of June at 00:00"),
        ("FREQ=YEARLY;BYDAY=20MO", "every year on the 20th Monday at 00:00"),
        ("FREQ=HOURLY;INTERVAL=7;BYDAY=MO", "every 7 hours on Monday"),
        ({"cron": "0 9 * * *", "max_runs": 1}, "every day at 09:00, once in all"),
        (
            {"cron": "0 9 * * *", "max_runs": 5, "jitter": "90s"},
            "every day at 09:00, at most 5 times, each up to 1m30s later",
        ),
    ],
)
def test_everything_has_words(schedule: str | dict[str, object], words: str) -> None:
    assert timing(schedule).words.removesuffix(" (UTC)") == words


def test_what_is_counted_from_midnight_is_told_apart_from_a_period() -> None:
    assert (
        timing("0 */2 * * *", "Europe/Paris").words == "every 2 hours between 00:00 and 22:00 (Europe/Paris)"
    )
    assert timing("0 * * * *", "Asia/Kolkata").words == "every hour between 00:00 and 23:00 (Asia/Kolkata)"
    assert timing("0 * * * *", "Europe/Paris").words == "every hour (Europe/Paris)"
    assert timing("every 2 hours", "Europe/Paris").words == "every 2 hours"


def test_limits_of_joined_schedules_are_told_so_that_it_is_clear_what_they_limit() -> None:
    shared = timing("every monday at 9 and every friday at 10 except holidays in FR")
    assert shared.words == "every Friday at 10:00 and every Monday at 09:00, except holidays in FR (UTC)"
    own = timing({"any": ["0 9 * * MON", {"cron": "0 10 * * FRI", "exclude": {"holidays": ["FR"]}}]})
    assert own.words == "every Friday at 10:00, except holidays in FR; every Monday at 09:00 (UTC)"


def test_every_so_many_weeks_are_told_to_start_with_the_first() -> None:
    rule = {"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0", "start": "2026-03-10"}
    assert timing(rule).words == "every 2 weeks on Monday at 09:00, starting 2026-03-23 09:00 (UTC)"


def test_joined_minutes_have_words() -> None:
    assert timing({"any": ["* * * * *", "*/2 * * * *"]}).words


def test_a_choice_about_clock_changes_is_told() -> None:
    found = timing({"cron": "30 2 * * *", "dst": {"gap": "skip"}}, "Europe/Paris")
    assert found.words == (
        "every day at 02:30, times the clocks skip do not run and times they show twice run once (Europe/Paris)"
    )


def test_joined_schedules_name_each_zone_once() -> None:
    found = timing(
        {"any": ["0 9 * * MON", {"cron": "0 9 * * TUE", "timezone": "Asia/Tokyo"}]}, "Europe/Paris"
    )
    assert found.words == "every Monday at 09:00 and every Tuesday at 09:00 (Asia/Tokyo and Europe/Paris)"
    assert canonical(found.canonical) == found.canonical
