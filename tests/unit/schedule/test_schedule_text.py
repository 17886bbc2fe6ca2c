import pytest

from support.schedule_reading import canonical, due, problem

UTC = {"timezone": "UTC"}


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("every weekday at 9am", "0 9 * * 1-5"),
        ("Every Weekday At 9 AM", "0 9 * * 1-5"),
        ("weekdays at 09:00", "0 9 * * 1-5"),
        ("at 9am on weekdays", "0 9 * * 1-5"),
        ("every workday at 9", "0 9 * * 1-5"),
        ("every weekend at 10:30", "30 10 * * 0,6"),
        ("every day at noon", "0 12 * * *"),
        ("daily at midnight", "0 0 * * *"),
        ("every day", "0 0 * * *"),
        ("every day at 9am, 1pm and 5pm", "0 9,13,17 * * *"),
        ("each monday at 12am", "0 0 * * 1"),
        ("mondays at 12pm", "0 12 * * 1"),
        ("every mon, wed and fri at 8:30am", "30 8 * * 1,3,5"),
        ("every week on thursday at 17:00:30", "30 0 17 * * 4"),
        ("every month on the 1st and 15th at 9am", "0 9 1,15 * *"),
        ("on the 31st of every month at 6pm", "0 18 31 * *"),
        ("last day of the month at noon", "0 12 L * *"),
        ("first monday of the month at 9am", "0 9 * * 1#1"),
        ("every second friday of the month at 5pm", "0 17 * * 5#2"),
        ("every 3rd day of the month at 5pm", "0 17 3 * *"),
        ("the first and third tuesday of every month at 10", "0 10 * * 2#1,2#3"),
        ("last friday of every month at 5pm", "0 17 * * 5L"),
        ("last weekday of the month at 17:00", "0 17 LW * *"),
        ("first weekday of every month at 9", "0 9 1W * *"),
        ("every quarter on the 1st at 6am", "0 6 1 */3 *"),
        ("first day of every quarter at 6am", "0 6 1 */3 *"),
        ("every 2 months on the last friday at 9", "0 9 * */2 5L"),
        ("every year on december 24 at 6pm", "0 18 24 12 *"),
        ("every 24th of december at 6pm", "0 18 24 12 *"),
        ("every 1 january at midnight", "0 0 1 1 *"),
        ("every monday in june and july at 9", "0 9 * 6,7 1"),
        ("every day in june at 9", "0 9 * 6 *"),
        ("every hour at minute 15", "15 * * * *"),
        ("every hour at :15 and :45", "15,45 * * * *"),
        ("every hour between 9am and 5pm", "0 9-17 * * *"),
        ("every 30 minutes from 9:00 to 11:30 on weekends", "*/30 9-11 * * 0,6"),
        ("every 2 hours on weekends", "0 */2 * * 0,6"),
        ("every 10 seconds on mondays", "*/10 * * * * 1"),
    ],
)
def test_words_become_cron(text: str, cron: str) -> None:
    assert canonical(text) == {"cron": cron, **UTC}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("every second", 1),
        ("every 90 seconds", 90),
        ("every minute", 60),
        ("every 5 minutes", 300),
        ("every five minutes", 300),
        ("every 15min", 900),
        ("every hour", 3600),
        ("hourly", 3600),
        ("every 1h30m", 5400),
        ("every 1 hour and 30 minutes", 5400),
        ("every other hour", 7200),
        ("every 24 hours", 86_400),
    ],
)
def test_a_rate_alone_is_a_period(text: str, seconds: int) -> None:
    assert canonical(text, "Europe/Paris") == {"every": seconds}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("every other friday at 17:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=17;BYMINUTE=0"),
        ("every 2 weeks on monday and friday at 9", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0"),
        ("every other day at 8", "FREQ=DAILY;INTERVAL=2;BYHOUR=8;BYMINUTE=0"),
        ("every 3 days at 8", "FREQ=DAILY;INTERVAL=3;BYHOUR=8;BYMINUTE=0"),
        ("every 5 months on the 10th at 8", "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=10;BYHOUR=8;BYMINUTE=0"),
        (
            "every 4 years on february 29 at 8",
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29;BYHOUR=8;BYMINUTE=0",
        ),
    ],
)
def test_every_so_many_days_weeks_months_and_years_become_a_rule(text: str, rule: str) -> None:
    assert canonical(text if "february" not in text else text + " starting 2000-01-01")["rrule"] == rule


def test_a_window_includes_both_ends() -> None:
    text = "every 15 minutes between 9am and 5pm on weekdays"
    assert [part["cron"] for part in canonical(text)["any"]] == ["*/15 9-16 * * 1-5", "0 17 * * 1-5"]
    found = due(text, after="2026-03-05T00:00:00+00:00", count=33)
    assert (found[0], found[-1]) == ("2026-03-05 09:00", "2026-03-05 17:00")


def test_a_period_in_a_window_is_counted_from_its_beginning() -> None:
    found = due("every 25 minutes between 9:10 and 10:30", after="2026-03-05T00:00:00+00:00", count=4)
    assert [at[-5:] for at in found] == ["09:10", "09:35", "10:00", "10:25"]


def test_several_schedules_are_joined_with_and() -> None:
    joined = {"any": [{"cron": "0 17 * * 5", **UTC}, {"cron": "0 9 * * 1", **UTC}]}
    assert canonical("every monday at 9 and every friday at 17:00") == joined
    assert canonical("every monday at 9 and friday at 17:00") == joined
    assert canonical("fridays at 17:00, mondays at 9") == joined
    assert [part["cron"] for part in canonical("every day at 9:00 and 17:30")["any"]] == [
        "0 9 * * *",
        "30 17 * * *",
    ]


def test_the_zone_may_be_in_the_words() -> None:
    paris = canonical("every day at 9am", "Europe/Paris")
    assert canonical("every day at 9am in Europe/Paris") == paris
    assert canonical("every day at 9am (europe/paris)") == paris
    assert canonical("every day at 9am Europe/Paris", "Europe/Paris") == paris
    assert problem("every day at 9am in Europe/Pariss").hint == "did you mean 'Europe/Paris'?"


def test_options_may_be_in_the_words() -> None:
    assert canonical("every day at 9 starting 2026-06-01 until 2026-06-30") == {
        "cron": "0 9 * * *",
        "start": "2026-06-01T00:00:00Z",
        "end": "2026-06-30T23:59:59Z",
        **UTC,
    }
    assert canonical("every day at 9 except weekends, 2026-12-24 and holidays in fr and de-by")[
        "exclude"
    ] == {
        "weekends": True,
        "dates": ["2026-12-24"],
        "holidays": ["DE-BY", "FR"],
    }
    assert canonical("every day at 9 except FR holidays")["exclude"] == {"holidays": ["FR"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("every blue moon", "did not understand 'blue' in 'every blue moon'"),
        ("gibberish", "did not understand 'gibberish'"),
        ("every weekday at 9am sharp", "did not understand 'sharp'"),
        ("every weekday at nineish", "did not understand 'nineish'"),
        ("every weekday at 25:00", "'25:00' is not a time of day"),
        ("every weekday at 13pm", "'13pm' is not a time of day"),
        ("every weekday at", "a time of day is missing at the end"),
        ("every", "a unit of time or a day is missing at the end"),
        ("and", "did not understand 'and'"),
        ("monday at 9", "once, or every time?"),
        ("at 9am", "once, or every time?"),
        ("on the 1st at 9am", "once, or every time?"),
        ("every second friday at 5", '"every second friday" has two meanings'),
        ("every 2nd friday at 5", '"every 2nd friday" has two meanings'),
        ("every 3rd day at 5", '"every 3rd day" has two meanings'),
        ("every 999999 hours", "a duration is between 0 and 10 years"),
        ("every week at 9", "on which day of the week?"),
        ("every month", "on which day of the month?"),
        ("every year at 9", "on which day of the year?"),
        ("every 2 weeks at 9", "on which day of every 2 weeks?"),
        ("every friday on the 13th at 9", "which of them?"),
        ("every day at 9 at 17", "did not understand 'at'"),
        ("every 15 minutes at 9am", "exclude each other"),
        ("every 15 minutes at minute 5", '"at minute" goes with "every hour" only'),
        ("every day between 9am and 5pm", "a window of time needs a rate"),
        ("every 15 minutes between 5pm and 9am", "a window of time ends after it begins"),
        ("every 15 minutes between 9am", '"and" or "to" is missing'),
        ("every 100 minutes on mondays", "do not go evenly into a day"),
        ("every 7 seconds on mondays", "seconds within a day go evenly into a minute"),
        ("every day every week", "which of them?"),
        ("every 0 minutes", "a period is at least 1"),
        ("every month on the 32nd", "no month has a day 32"),
        ("sixth monday of the month at 9", "no month has a weekday 6 times"),
        ("6th monday of the month at 9", "no month has a weekday 6 times"),
        ("every monday at 9 and every friday", "needs its own time of day"),
        ("every day at 9 until christmas", "did not understand 'until'"),
        ("every day at 9 except", "is missing"),
        ("every day at 9 except 2026-02-30", "2026-02-30 is not a date"),
        ("every day at 9 starting 2026-02-30", "2026-02-30 is not a date"),
        ("every day at 9 except holidays in xx", "no public holidays are known for 'xx'"),
        ("every day at 9 starting 2026-06-01 9 10", "did not understand '9'"),
        ("every day at 9 except full moons", "did not understand 'full'"),
        ("every day at 9 starting tomorrow", "did not understand 'tomorrow'"),
        ("   ", "a text is needed here"),
        ("every day at 9 " + "x" * 300, "a text of at most 256 characters, not 315"),
    ],
)
def test_what_is_not_understood_is_named_instead_of_guessed(text: str, message: str) -> None:
    found = problem(text)
    assert found.path == "schedule"
    assert message in found.message
