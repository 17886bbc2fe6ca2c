"""How much a tenant and a queue keep, as an operator says it."""

from support.sample_answers import MAIL_QUEUE, changed

KEPT = {"age": 604_800.0, "last": None, "history_days": 30}


def test_shows_what_is_kept_and_for_how_long_at_most(ask, server):
    server.will_answer(KEPT)
    shown = " ".join(ask("retention", "get").stdout.split())
    assert "keeps 7d" in shown
    assert "30 days at most" in shown


def test_sets_what_is_kept_or_all(ask, server):
    server.will_answer(KEPT)
    server.will_answer(KEPT | {"age": None})
    ask("retention", "set", "--keep-for", "7d")
    shown = ask("retention", "set", "--keep-all").stdout
    assert [asked.json for asked in server.asked] == [{"age": "7d"}, {}]
    assert "all" in shown


def test_refuses_to_guess(ask, server):
    for options in ([], ["--keep-all", "--keep-last", "3"]):
        assert ask("retention", "set", *options).exit_code == 2
    assert not server.asked


def test_a_queue_keeps_what_it_is_told_and_what_it_was_told_before(ask, server):
    server.will_answer(MAIL_QUEUE)
    server.will_answer(changed(MAIL_QUEUE, retention={"age": None, "last": 5}))
    shown = ask("queue", "set", "mail", "--keep-last", "5").stdout
    server.will_answer(changed(MAIL_QUEUE, retention={"age": None, "last": 5}))
    server.will_answer(MAIL_QUEUE)
    ask("queue", "set", "mail", "--no-rate")
    server.will_answer(changed(MAIL_QUEUE, retention={"age": None, "last": 5}))
    server.will_answer(MAIL_QUEUE)
    ask("queue", "set", "mail", "--keep-all")
    assert [asked.json.get("retention") for asked in server.asked[1::2]] == [{"last": 5}, {"last": 5}, None]
    assert "the last 5" in shown


def test_says_that_one_time_jobs_keep_all_if_only_a_number_is_given(ask, server):
    server.will_answer(KEPT | {"age": None, "last": 5})
    server.will_answer(KEPT | {"last": 5})
    assert "one-time jobs keep all of their history" in ask("retention", "set", "--keep-last", "5").stderr
    assert ask("retention", "set", "--keep-last", "5", "--keep-for", "7d").stderr == ""


def test_a_queue_says_so_only_when_it_is_told_a_number(ask, server):
    last = changed(MAIL_QUEUE, retention={"age": None, "last": 5})
    for queue in (MAIL_QUEUE, last, last, last):
        server.will_answer(queue)
    assert "one-time jobs keep all" in ask("queue", "set", "mail", "--keep-last", "5").stderr
    assert ask("queue", "set", "mail", "--no-rate").stderr == ""
