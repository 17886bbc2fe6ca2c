"""Secrets in the environment of a command, by the rule of `http_secrets`.

Answers show the mark *** in place of a secret. A request that sends the mark back keeps the stored secret, but only for
the same program, arguments, folder, input and other variables: with others, anybody who may change a job could have its
secrets printed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from tickwork.model.command import CommandFields
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.http_secrets import REDACTED, is_secret_name, texts_to_mask

_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:(?P<password>[^/\s@]+)@")
_HINT = "send its value again"


def is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or value == REDACTED or bool(_PASSWORD_IN_URL.search(value))


def redacted_env(env: Mapping[str, str]) -> dict[str, str]:
    return {name: REDACTED if is_secret(name, value) else value for name, value in env.items()}


def secret_values(env: Mapping[str, str]) -> tuple[str, ...]:
    """The texts to mask in what the command prints, longest first. It prints line by line, so the lines of a longer
    secret, such as a private key, are masked each."""
    secrets = {value for name, value in env.items() if is_secret(name, value)}
    passwords = {match["password"] for value in secrets for match in _PASSWORD_IN_URL.finditer(value)}
    lines = {line for value in secrets for line in value.splitlines()}
    return texts_to_mask(secrets | passwords | lines)


def env_mark_errors(env: Mapping[str, str]) -> Iterator[FieldError]:
    """An error for each mark: the request must send the secrets themselves."""
    for name, value in env.items():
        if value == REDACTED:
            yield FieldError(f"env.{name[:80]}", f"{REDACTED} stands for a secret, and none is stored", _HINT)


def with_stored_env(fields: CommandFields, stored: CommandFields, given: Iterable[str]) -> dict[str, str]:
    """The environment with the stored secrets in place of marks. `given`: the variables that the request names. Raises
    Invalid if a secret is not stored, or was given for another command."""
    if _without_secrets(fields) != _without_secrets(stored):
        _refuse_kept_secrets(fields.env, set(given))
    env = {
        name: stored.env.get(name, value) if value == REDACTED else value
        for name, value in fields.env.items()
    }
    if errors := list(env_mark_errors(env)):
        raise Invalid(errors)
    return env


def _without_secrets(fields: CommandFields) -> tuple[object, ...]:
    public = {name: value for name, value in fields.env.items() if not is_secret(name, value)}
    return fields.command, fields.cwd, fields.stdin, public


def _refuse_kept_secrets(env: Mapping[str, str], given: set[str]) -> None:
    errors = [
        FieldError(f"env.{name[:80]}", "was given for another command or environment", _HINT)
        for name, value in env.items()
        if is_secret(name, value) and (value == REDACTED or name not in given)
    ]
    if errors:
        raise Invalid(errors)
