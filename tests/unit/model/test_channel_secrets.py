"""Secrets of channels are shown as marks, kept by marks for the same destination only, and masked in what is said."""

from typing import Any

import msgspec
import pytest

from tickwork.model.channel import Channel
from tickwork.model.channel_secrets import keep_secrets, redacted, secrets_to_mask, split_fields
from tickwork.model.errors import Invalid

SECRET = "s3cret-that-nobody-sees"
WHSEC = "whsec_" + "QUJD" * 10
KINDS: dict[str, dict[str, Any]] = {
    "webhook": {"url": f"https://a.example/hook?token={SECRET}&page=2", "secret": WHSEC},
    "slack": {"url": f"https://hooks.slack.example/services/T1/B1/{SECRET}"},
    "teams": {"url": f"https://prod.logic.example/workflows/1/invoke?sp=run&sig={SECRET}"},
    "pagerduty": {"routing_key": SECRET},
    "opsgenie": {"api_key": SECRET},
    "apprise": {"url": f"tgram://123456789:{SECRET}/chat"},
    "email": {
        "to": ["ops@example.com"],
        "from": "tickwork@example.com",
        "smtp": {"host": "mail.example", "username": "me", "password": SECRET},
    },
}
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def channel(kind: str, **changes: Any) -> Channel:
    return msgspec.convert({"kind": kind, **KINDS[kind], **changes}, Channel)


def text_of(value: object) -> str:
    return msgspec.json.encode(value).decode()


def error_of(given: Channel, stored: Channel | None) -> str:
    with pytest.raises(Invalid) as raised:
        keep_secrets(given, stored)
    assert SECRET not in str(raised.value)
    return str(raised.value)


@of_each_kind
def test_neither_what_is_shown_nor_a_repr_has_a_secret(kind):
    given = channel(kind)
    assert SECRET not in text_of(redacted(given))
    assert WHSEC not in text_of(redacted(given))
    assert "***" in text_of(redacted(given))
    assert SECRET not in repr(given)
    assert SECRET not in repr([given])


@of_each_kind
def test_what_is_not_secret_is_stored_apart(kind):
    settings, secrets = split_fields(channel(kind))
    assert SECRET not in text_of(settings)
    assert SECRET in text_of(secrets)


@of_each_kind
def test_what_was_shown_can_be_sent_back_without_losing_anything(kind):
    stored = channel(kind)
    assert keep_secrets(redacted(stored), stored) == stored


@of_each_kind
def test_a_mark_needs_a_stored_secret_of_the_same_kind(kind):
    given = redacted(channel(kind))
    other = channel("slack" if kind != "slack" else "teams")
    for stored in (None, other):
        assert "*** stands for a secret, and none is stored (send the value itself)" in error_of(
            given, stored
        )


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("webhook", {"url": "https://mine.example/hook?token=***"}),
        ("webhook", {"url": "http://a.example/hook", "secret": "***"}),
        ("webhook", {"url": "https://a.example:8443/hook", "secret": "***"}),
        ("slack", {"url": "https://mine.example/***"}),
        ("pagerduty", {"url": "https://mine.example/v2/enqueue", "routing_key": "***"}),
        ("opsgenie", {"url": "https://mine.example", "api_key": "***"}),
        ("apprise", {"url": "json://***"}),
        ("email", {"smtp": {"host": "mine.example", "username": "me", "password": "***"}}),
        ("email", {"smtp": {"host": "mail.example", "port": 2525, "username": "me", "password": "***"}}),
        (
            "email",
            {"smtp": {"host": "mail.example", "security": "none", "username": "me", "password": "***"}},
        ),
    ],
)
def test_who_may_change_a_channel_cannot_have_its_secrets_sent_elsewhere(kind, changes):
    said = error_of(channel(kind, **changes), channel(kind))
    assert "was given for" in said
    assert "another destination" in said


def test_a_new_secret_takes_the_place_of_the_old_one():
    stored = channel("webhook")
    new = channel("webhook", secret="whsec_" + "REVG" * 10, url="https://mine.example/")
    assert keep_secrets(new, stored) == new


def test_a_mark_for_a_secret_that_the_stored_channel_does_not_have_is_refused():
    stored = channel("webhook", secret=None)
    assert error_of(channel("webhook", secret="***"), stored).startswith("secret: *** stands for")


@of_each_kind
def test_masks_each_secret_however_it_is_repeated(kind):
    masked = secrets_to_mask(channel(kind))
    assert SECRET in masked
    assert list(masked) == sorted(masked, key=len, reverse=True)


def test_masks_a_secret_as_json_escapes_it():
    masked = secrets_to_mask(channel("opsgenie", api_key='quo"ted\\key'))
    assert 'quo\\"ted\\\\key' in masked
