"""Signatures that any Standard Webhooks receiver accepts."""

import time
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from tickwork.model.webhook_signature import parse_secret, sign


def secret_of(key: bytes) -> str:
    return "whsec_" + b64encode(key).decode()


OLD, NEW, OTHER = (secret_of(bytes([number]) * 32) for number in range(3))


def signed(secrets: list[str], body: bytes, *, at: int | None = None) -> dict[str, str]:
    timestamp = int(time.time()) if at is None else at
    return {
        "webhook-id": "e5-1ga4gc1wg00",
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secrets, "e5-1ga4gc1wg00", timestamp, body),
    }


@given(key=st.binary(min_size=24, max_size=64), body=st.text(st.characters(codec="utf-8")))
def test_the_reference_library_accepts_every_signature(key, body):
    secret = secret_of(key)
    Webhook(secret).verify(body, signed([secret], body.encode()), json_parse=False)


def test_both_secrets_are_accepted_while_they_are_being_changed():
    headers = signed([OLD, NEW], b"{}")
    assert Webhook(OLD).verify(b"{}", headers) == {}
    assert Webhook(NEW).verify(b"{}", headers) == {}
    assert len(headers["webhook-signature"].split(" ")) == 2


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_changed_header_is_refused(changed):
    headers = signed([OLD], b"{}")
    headers[changed] = {
        "webhook-id": "e6-1ga4gc1wg00",
        "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 1),
        "webhook-signature": signed([OTHER], b"{}")["webhook-signature"],
    }[changed]
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(b"{}", headers)


def test_a_changed_body_is_refused():
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(b'{"a": 1}', signed([OLD], b"{}"))


def test_a_replay_after_more_than_five_minutes_is_refused():
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(OLD).verify(b"{}", signed([OLD], b"{}", at=int(time.time()) - 301))


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "whsec_???",
        "whsec_ä",
        secret_of(b"k" * 23),
        secret_of(b"k" * 65),
        b64encode(b"k" * 32).decode(),
    ],
)
def test_a_bad_secret_is_refused_without_repeating_it(secret):
    with pytest.raises(ValueError, match="a signing secret is whsec_ and 24 to 64 bytes in base 64") as error:
        parse_secret(secret)
    assert secret in ("", "whsec_") or secret not in str(error.value)
