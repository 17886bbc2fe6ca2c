"""Secrets in the environment of a command: shown as marks, and kept only for the same command."""

import pytest

from tickwork.model.command import CommandFields
from tickwork.model.errors import Invalid
from tickwork.model.mask_command_env import redacted_env, secret_values, with_stored_env

ENV = {
    "BUCKET": "b",
    "API_TOKEN": "s3cret!",
    "PGPASSWORD": "p",
    "DATABASE_URL": "postgres://me:hunter22@db/x",
}
SHOWN = {"BUCKET": "b", "API_TOKEN": "***", "PGPASSWORD": "***", "DATABASE_URL": "***"}
STORED = CommandFields(command=["backup", "--full"], env=ENV, cwd="/srv")


def test_secret_names_and_passwords_in_urls_are_marked() -> None:
    assert redacted_env(ENV) == SHOWN


def test_they_are_masked_in_output_also_in_part() -> None:
    assert set(secret_values(ENV)) == {"s3cret!", "hunter22", "postgres://me:hunter22@db/x"}


def test_each_line_of_a_longer_secret_is_masked() -> None:
    """What a command prints is logged some lines at a time."""
    masked = secret_values({"SIGNING_KEY_SECRET": "-----BEGIN KEY-----\nMIIEvQIBADANBg\nab\n"})
    assert {"-----BEGIN KEY-----", "MIIEvQIBADANBg"} < {*masked}
    assert "ab" not in masked


def test_marks_that_are_sent_back_keep_what_is_stored() -> None:
    sent = CommandFields(command=["backup", "--full"], env=SHOWN, cwd="/srv")
    assert with_stored_env(sent, STORED, SHOWN) == ENV


@pytest.mark.parametrize(
    "changed",
    [
        {"command": ["backup", "--verbose"]},
        {"cwd": "/tmp"},  # noqa: S108
        {"stdin": "print them"},
        {"env": SHOWN | {"BUCKET": "mine"}},
        {"env": SHOWN | {"DEBUG": "1"}},
    ],
)
def test_they_are_not_kept_for_anything_else(changed: dict[str, object]) -> None:
    sent = CommandFields(**{"command": ["backup", "--full"], "env": SHOWN, "cwd": "/srv", **changed})  # type: ignore[arg-type]
    with pytest.raises(Invalid) as refused:
        with_stored_env(sent, STORED, SHOWN)
    assert [error.path for error in refused.value.errors] == [
        "env.API_TOKEN",
        "env.PGPASSWORD",
        "env.DATABASE_URL",
    ]


def test_secrets_that_the_request_gives_again_go_to_another_command() -> None:
    given = {"API_TOKEN": "n3w-one", "PGPASSWORD": "q", "DATABASE_URL": "postgres://me:other123@db/x"}
    sent = CommandFields(command=["other"], env=ENV | given)
    assert with_stored_env(sent, STORED, given) == ENV | given


def test_a_secret_that_the_request_does_not_name_is_not_taken_along() -> None:
    """A patch of the command alone: the environment is the stored one."""
    with pytest.raises(Invalid):
        with_stored_env(CommandFields(command=["other"], env=ENV), STORED, {})


def test_a_mark_without_a_stored_secret_is_refused() -> None:
    sent = CommandFields(command=["backup", "--full"], env=ENV | {"NEW_KEY": "***"}, cwd="/srv")
    with pytest.raises(Invalid) as refused:
        with_stored_env(sent, STORED, sent.env)
    assert [error.path for error in refused.value.errors] == ["env.NEW_KEY"]
