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
