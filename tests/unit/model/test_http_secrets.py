"""Which headers and parameters are secret, and what is shown in their place."""

import msgspec
import pytest

from tickwork.model.errors import Invalid
from tickwork.model.http_secrets import (
    REDACTED,
    is_secret_name,
    mark_errors,
    mask_secrets,
    redacted,
    secret_texts,
    with_stored_secrets,
)
from tickwork.model.http_target import HttpTarget

STORED = HttpTarget(
    "https://a.example/?token=t0ken-1&page=2&token=t0ken-2", headers={"X-Api-Key": "k3y", "X-Page": "1"}
)


SECRET_NAMES = """
Authorization proxy-authorization Cookie X-Api-Key apikey x_auth_token X-Amz-Signature X-Secret Api-Password X-CSRFToken
X-Session-Id Ocp-Apim-Subscription-Key X-Functions-Key X-Vault-Token x-goog-credential X-Auth X-JWT X-Hub-Signature-256
x-pwd sig
"""
OTHER_NAMES = "Accept X-Request-Id Idempotency-Key X-Author X-Page Content-Language Keyword X-Monkey"


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_names_that_tell_of_a_secret(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_names_that_tell_of_none(name):
    assert not is_secret_name(name)


def test_only_values_of_secrets_are_veiled():
    shown = redacted(STORED)
    assert shown.url == "https://a.example/?token=***&page=2&token=***"
    assert shown.headers == {"X-Api-Key": REDACTED, "X-Page": "1"}
    for url in (
        "https://a.example/x",
        "https://a.example/?",
        "https://a.example/?token",
        "https://a.example/?token=",
    ):
        assert redacted(HttpTarget(url)).url == url
    assert (
        redacted(HttpTarget("https://a.example/?%74oken=x&code=y")).url
        == "https://a.example/?%74oken=***&code=***"
    )


def test_marks_sent_back_keep_each_its_own_value():
    shown = redacted(STORED)
    assert with_stored_secrets(shown, STORED, shown.headers) == STORED
    lower = msgspec.structs.replace(shown, headers={"x-api-key": REDACTED})
    assert with_stored_secrets(lower, STORED, lower.headers).headers == {"x-api-key": "k3y"}
    changed = msgspec.structs.replace(shown, url="https://a.example/other?token=new-1&token=***")
    assert with_stored_secrets(changed, STORED, ()).url == "https://a.example/other?token=new-1&token=t0ken-1"


@pytest.mark.parametrize("stored", [None, HttpTarget("https://a.example/")])
def test_a_mark_for_what_is_not_stored_is_refused(stored):
    with pytest.raises(Invalid) as refused:
        with_stored_secrets(
            HttpTarget("https://a.example/?sig=***", headers={"Cookie": REDACTED, "X-Own": REDACTED}),
            stored,
            (),
        )
    assert [error.path for error in refused.value.errors] == ["http.headers.Cookie", "http.url"]
    assert {error.hint for error in refused.value.errors} == {"send the value itself"}


@pytest.mark.parametrize("url", ["https://evil.example/", "http://a.example/", "https://a.example:8443/"])
def test_no_secret_follows_the_url_to_another_destination(url):
    moved = msgspec.structs.replace(STORED, url=url)
    with pytest.raises(Invalid) as refused:
        with_stored_secrets(moved, STORED, ())
    assert [error.path for error in refused.value.errors] == ["http.headers.X-Api-Key"]
    with pytest.raises(Invalid):
        with_stored_secrets(
            msgspec.structs.replace(moved, headers={"X-Api-Key": REDACTED}), STORED, ["X-Api-Key"]
        )
    with pytest.raises(Invalid):
        with_stored_secrets(HttpTarget(f"{url}?token=***"), STORED, ())
    given = msgspec.structs.replace(moved, headers={"X-Api-Key": "another"})
    assert with_stored_secrets(given, STORED, ["X-Api-Key"]) == given
    assert with_stored_secrets(HttpTarget(url), STORED, ()).headers == {}


def test_a_mark_that_is_no_secrets_is_a_value_like_others():
    assert list(mark_errors(HttpTarget("https://a.example/?page=***", headers={"X-Own": REDACTED}))) == []


def test_a_secret_is_hidden_in_all_its_forms():
    target = HttpTarget(
        "https://a.example/?token=a%20b%2Fcdef",
        headers={
            "Authorization": "Bearer abc.def",
            "X-Authorization": "Basic YW5uOnBhc3N3b3JkIQ==",
            "Cookie": "id=0123456789; lang=en",
            "X-Secret": 'quo"ted\\',
        },
    )
    texts = ["Bearer abc.def", "abc.def", "YW5uOnBhc3N3b3JkIQ==", "ann:password!", "password!", "0123456789"]
    texts += ["a%20b%2Fcdef", "a b/cdef", 'quo"ted\\', 'quo\\"ted\\\\']
    assert {mask_secrets(text, secret_texts(target)) for text in texts} == {REDACTED}


def test_short_texts_and_broken_codes_are_left_alone():
    target = HttpTarget("https://a.example/", headers={"Authorization": "Basic !", "X-Token": "ok"})
    assert mask_secrets("all is ok!", secret_texts(target)) == "all is ok!"
