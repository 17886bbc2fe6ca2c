"""`tickwork job create` for jobs that need, limit and share."""

import pytest

from support.sample_answers import JOB
from tickwork.cli.exit_codes import USAGE


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (
            ("--require", "cpu=2", "--require", "memory=512Mi", "--require", "license=1"),
            {"requires": {"cpu": 2.0, "memory": 512 * 1024**2, "custom": {"license": 1.0}}},
        ),
        (("--require-label", "region=eu"), {"requires": {"labels": {"region": "eu"}}}),
        (("--limit", "customer-42=3"), {"limits": [{"key": "customer-42", "max_running": 3}]}),
        (
            ("--limit", "a=b=100/1m,3", "--limit", "c=5/s"),
            {"limits": [{"key": "a=b", "rate": "100/1m", "max_running": 3}, {"key": "c", "rate": "5/s"}]},
        ),
        (("--fair-share", "acme"), {"fair_share": {"key": "acme"}}),
        (("--fair-share", "acme=2.5"), {"fair_share": {"key": "acme", "weight": 2.5}}),
    ],
)
def test_asks_for_what_the_options_say(ask, server, options, fields):
    server.will_answer(JOB, 201)
    ask("job", "create", "--task", "work", *options)
    assert server.asked[0].json == {"task": "work", **fields}


@pytest.mark.parametrize(
    ("option", "text", "hint"),
    [
        ("--limit", "customer-42", "such as customer-42=3,100/1m"),
        ("--limit", "customer-42=many", "such as customer-42=3,100/1m"),
        ("--limit", "=3", "such as customer-42=3,100/1m"),
        ("--fair-share", "acme=lots", "such as acme=2"),
        ("--require", "gpu", "NAME=AMOUNT"),
    ],
)
def test_says_how_it_is_written(ask, server, option, text, hint):
    done = ask("job", "create", "--task", "work", option, text)
    assert (done.exit_code, hint in done.stderr, server.asked) == (USAGE, True, [])
