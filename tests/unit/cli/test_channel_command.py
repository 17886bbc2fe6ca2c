"""`tickwork channel`."""

from typing import Any

import pytest

from support.sample_answers import MAIL_CHANNEL, SLACK_CHANNEL, changed, page
from tickwork.cli.exit_codes import FAILED, NOT_FOUND, USAGE

PREVIEW = {
    "title": "weekly report failed",
    "body": "Job: weekly report (j1)",
    "sent": {"text": "weekly report failed"},
}


def sent(server) -> dict[str, Any]:
    put = server.asked[-1]
    assert (put.method, put.path) == ("PUT", "/v1/channels/ops")
    return put.json


def test_lists_channels_with_where_they_go(ask, server):
    server.will_answer(page(MAIL_CHANNEL, SLACK_CHANNEL))
    head, mail, slack = [" ".join(line.split()) for line in ask("channel", "list").stdout.splitlines()]
    assert head == "CHANNEL KIND STATE GOES TO SEVERITY DIGEST QUIET CHANGED"
    assert mail.startswith(
        "mail email active ops@example.com, ann@example.com by mail.example.com:587 error and above hourly "
        "22:00 to 07:00 (Europe/Paris), except error and above"
    )
    assert slack.startswith("ops slack active https://hooks.slack.com/*** all immediately")


def test_shows_one(ask, server):
    server.will_answer(SLACK_CHANNEL)
    shown = ask("channel", "get", "ops").stdout
    assert server.asked[0].path == "/v1/channels/ops"
    assert "30 a minute" in shown


def test_set_creates_a_channel(ask, server):
    server.will_refuse(404, "there is no channel ops")
    server.will_answer(SLACK_CHANNEL)
    done = ask("channel", "set", "ops", "--kind", "slack", "--url", "https://hooks.slack.com/services/1/2/3")
    assert done.exit_code == 0, done.stderr
    assert sent(server) == {"kind": "slack", "url": "https://hooks.slack.com/services/1/2/3"}


def test_a_secret_can_be_read_from_stdin(ask, server):
    server.will_refuse(404, "there is no channel ops")
    server.will_answer(SLACK_CHANNEL)
    ask("channel", "set", "ops", "--kind", "pagerduty", "--routing-key", "-", stdin="the-key\n")
    assert sent(server) == {"kind": "pagerduty", "routing_key": "the-key"}


def test_set_changes_only_what_is_named_and_keeps_the_secrets(ask, server):
    server.will_answer(changed(SLACK_CHANNEL, name="ops"))
    server.will_answer(SLACK_CHANNEL)
    ask("channel", "set", "ops", "--severity", "error", "--paused", "--title", "{job.name}")
    assert sent(server) == {
        "kind": "slack",
        "url": "https://hooks.slack.com/***",
        "severity": "error",
        "digest": "immediately",
        "window": 300.0,
        "rate": 30,
        "paused": True,
        "template": {"title": "{job.name}"},
    }


def test_another_kind_keeps_the_rules_and_nothing_else(ask, server):
    server.will_answer(changed(MAIL_CHANNEL, name="ops"))
    server.will_answer(SLACK_CHANNEL)
    ask("channel", "set", "ops", "--kind", "opsgenie", "--api-key", "k")
    fields = sent(server)
    assert (fields["kind"], fields["api_key"], fields["digest"]) == ("opsgenie", "k", "hourly")
    assert not {"to", "smtp", "from"} & fields.keys()


def test_set_makes_a_mail_channel_with_a_server_of_its_own(ask, server):
    server.will_refuse(404, "there is no channel ops")
    server.will_answer(MAIL_CHANNEL)
    words = "--kind email --to a@b.c --to d@e.f --from t@x.y --smtp-host mail.x.y --smtp-port 465 --smtp-security tls"
    ask(
        "channel",
        "set",
        "ops",
        *words.split(),
        "--smtp-username",
        "me",
        "--smtp-password",
        "-",
        stdin="pass\n",
    )
    assert sent(server) == {
        "kind": "email",
        "to": ["a@b.c", "d@e.f"],
        "from": "t@x.y",
        "smtp": {"host": "mail.x.y", "port": 465, "security": "tls", "username": "me", "password": "pass"},
    }


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        (
            ["--quiet", "22:00-07:00", "--quiet-timezone", "Europe/Paris"],
            SLACK_CHANNEL,
            {"from": "22:00", "to": "07:00", "timezone": "Europe/Paris"},
        ),
        (
            ["--quiet-except", "warning"],
            MAIL_CHANNEL,
            {"from": "22:00", "to": "07:00", "timezone": "Europe/Paris", "except": "warning"},
        ),
        (["--no-quiet"], MAIL_CHANNEL, None),
    ],
)
def test_quiet_hours_are_set_changed_and_removed(ask, server, options, before, after):
    server.will_answer(changed(before, name="ops"))
    server.will_answer(SLACK_CHANNEL)
    ask("channel", "set", "ops", *options)
    assert sent(server).get("quiet") == after


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--severity", "error"], "give --kind for a new channel"),
        (["--kind", "slack", "--quiet", "22:00"], "write them as 22:00-07:00"),
        (["--kind", "slack", "--quiet-timezone", "UTC"], "give the hours, too"),
        (["--kind", "slack", "--quiet", "22:00-07:00", "--no-quiet"], "give --quiet or --no-quiet, not both"),
    ],
)
def test_options_that_do_not_fit_are_refused(ask, server, options, said):
    server.will_refuse(404, "there is no channel ops")
    done = ask("channel", "set", "ops", *options)
    assert (done.exit_code, said in done.stderr) == (USAGE, True)


def test_test_shows_the_answer(ask, server):
    server.will_answer(
        {"delivered": True, "took": 0.123, "answer": {"status": 200, "body": "ok"}, "error": None}
    )
    done = ask("channel", "test", "ops")
    assert (done.exit_code, server.asked[0].path) == (0, "/v1/channels/ops/test")
    assert [line.split(maxsplit=1) for line in done.stdout.splitlines()] == [
        ["result", "delivered"],
        ["took", "123ms"],
        ["answer", '{"status":200,"body":"ok"}'],
    ]


def test_test_fails_if_the_message_was_not_delivered(ask, server):
    error = {"type": "Http404", "message": "hooks.slack.com answered 404 Not Found: no_service"}
    server.will_answer({"delivered": False, "took": 0.1, "answer": None, "error": error})
    done = ask("channel", "test", "ops")
    assert done.exit_code == FAILED
    assert "Http404: hooks.slack.com answered 404 Not Found: no_service" in done.stdout


def test_preview_shows_a_sample_and_tries_a_template(ask, server):
    server.will_answer(PREVIEW)
    done = ask("channel", "preview", "ops")
    assert "Job: weekly report (j1)" in done.stdout
    assert "sent" not in done.stdout
    server.will_answer(PREVIEW)
    done = ask("channel", "preview", "ops", "--title", "{title}", "--sent")
    assert server.asked[-1].json == {"template": {"title": "{title}"}}
    assert '{"text":"weekly report failed"}' in done.stdout


def test_delete_says_what_is_gone(ask, server):
    server.will_answer(SLACK_CHANNEL)
    done = ask("channel", "delete", "ops")
    assert (server.asked[0].method, done.exit_code, "deleted" in done.stderr) == ("DELETE", 0, True)


def test_says_when_there_is_no_such_channel(ask, server):
    server.will_refuse(404, "there is no channel opps")
    done = ask("channel", "get", "opps")
    assert (done.exit_code, "there is no channel opps" in done.stderr) == (NOT_FOUND, True)
