"""Where settings come from, and the errors about bad ones."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tickwork.config import MEANINGS, Settings, load_settings, shown, unknown_variables
from tickwork.model.errors import Invalid


def load(flags=None, env=None, toml=None, tmp_path=None):
    file = None
    if toml is not None:
        file = tmp_path / "tickwork.toml"
        file.write_text(toml)
    return load_settings(flags or {}, env or {}, file)


def errors_of(**given):
    with pytest.raises(Invalid) as caught:
        load(**given)
    return caught.value.errors


def test_everything_has_a_default():
    settings, sources = load()
    assert settings == Settings()
    assert set(sources.values()) == {"default"}


def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(tmp_path):
    toml = 'port = 1\nhost = "file"\nslots = 7\n'
    env = {"TICKWORK_PORT": "2", "TICKWORK_HOST": "env"}
    settings, sources = load({"port": 3}, env, toml, tmp_path)
    assert (settings.port, settings.host, settings.slots, settings.history_days) == (3, "env", 7, 30)
    assert sources["port"] == "--port"
    assert sources["host"] == "TICKWORK_HOST"
    assert sources["slots"].endswith("tickwork.toml")
    assert sources["history_days"] == "default"


def test_a_flag_that_was_not_given_changes_nothing():
    assert load({"port": None})[0].port == 8080


def test_an_empty_variable_is_ignored():
    assert load(env={"TICKWORK_PORT": "", "TICKWORK_URL": " "})[0] == Settings()


def test_variables_are_converted_to_the_type_of_the_setting():
    env = {
        "TICKWORK_HTTP": "false",
        "TICKWORK_HTTP_ALLOW": "10.0.0.0/8, ::1/128",
        "TICKWORK_DATA_DIR": "there",
    }
    settings, _ = load(env=env)
    assert settings.http is False
    assert settings.http_allow == ("10.0.0.0/8", "::1/128")
    assert settings.data_dir == Path("there")


@pytest.mark.parametrize("written", ['"90s"', "90", '"1m30s"'])
def test_a_duration_may_have_a_unit(written, tmp_path):
    settings, _ = load(toml=f"wait_for_database = {written}\n", tmp_path=tmp_path)
    assert settings.wait_for_database == timedelta(seconds=90)
    assert shown("wait_for_database", settings.wait_for_database) == "1m30s"
    (error,) = errors_of(flags={"wait_for_database": "soon"})
    assert error.message == "'soon' in --wait-for-database must be a duration such as 60s or 5m"


def test_the_file_has_lists_and_typed_values(tmp_path):
    settings, _ = load(toml='http_allow = ["10.0.0.0/8"]\nhttp = false\ndata_dir = "d"\n', tmp_path=tmp_path)
    assert (settings.http_allow, settings.http, settings.data_dir) == (("10.0.0.0/8",), False, Path("d"))
    (error,) = errors_of(toml='port = "8080"\n', tmp_path=tmp_path)
    assert error.path == "port"


def test_every_bad_value_is_named_with_its_source_and_the_fix():
    env = {"TICKWORK_PORT": "eighty", "TICKWORK_HTTP_ALLOW": "10.0.0.0/99", "TICKWORK_LOG_LEVEL": "loud"}
    errors = {error.path: error for error in errors_of(flags={"slots": 0}, env=env)}
    assert set(errors) == {"port", "http_allow", "log_level", "slots"}
    assert errors["port"].message == "'eighty' in TICKWORK_PORT must be a port from 0 (any free one) to 65535"
    assert errors["slots"].hint == "correct --slots"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("url", "127.0.0.1:8080"),
        ("database_url", "mysql://host/db"),
        ("admin_key", "x" * 23),
        ("history_days", "0"),
    ],
)
def test_refuses_values_that_cannot_work(name, text):
    (error,) = errors_of(env={f"TICKWORK_{name.upper()}": text})
    assert error.path == name


def test_an_unknown_setting_in_the_file_gets_a_suggestion(tmp_path):
    errors = errors_of(toml="databse_url = 'x'\ncolour = 'red'\n", tmp_path=tmp_path)
    assert errors[0].hint == "did you mean database_url?"
    assert "the settings are database_url, read_url, wait_for_database, data_dir" in errors[1].hint


def test_a_broken_file_is_named(tmp_path):
    (error,) = errors_of(toml="port = = 1", tmp_path=tmp_path)
    assert error.path.endswith("tickwork.toml")
    assert "line 1" in error.message


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@db/x",
        "postgresql://me:hun:ter2@db:5432/x?a=b",
        "postgresql://me@db/x?password=hunter2",
    ],
)
def test_no_secret_is_ever_printed(address):
    settings, _ = load(
        env={"TICKWORK_DATABASE_URL": address, "TICKWORK_ADMIN_KEY": "k" * 24, "TICKWORK_API_KEY": "hunter2"}
    )
    printed = repr(settings) + str(
        [shown(name, getattr(settings, name)) for name in settings.__struct_fields__]
    )
    assert "hunter2" not in printed
    assert "ter2" not in printed
    assert "kkk" not in printed
    assert "********" in shown("database_url", address)


def test_a_bad_secret_is_not_repeated_in_the_error():
    errors = errors_of(
        env={"TICKWORK_ADMIN_KEY": "hunter2", "TICKWORK_DATABASE_URL": "mysql://me:hunter2@db"}
    )
    assert not re.search("hunter2", str(errors))


def test_variables_that_kubernetes_sets_for_a_service_called_tickwork_are_not_settings():
    env = {"TICKWORK_PORT": "tcp://10.0.0.7:80", "TICKWORK_SERVICE_HOST": "10.0.0.7"}
    assert load(env=env)[0].port == 8080
    assert unknown_variables(env) == ["TICKWORK_SERVICE_HOST"]


def test_every_setting_has_a_meaning():
    assert set(MEANINGS) == set(Settings.__struct_fields__)


def test_a_mail_relay_needs_a_sender_and_its_password_is_not_shown():
    env = {"TICKWORK_SMTP_URL": "smtp://me:s3cret@mail.example"}
    (error,) = errors_of(env=env)
    assert (error.path, error.hint) == ("smtp_from", "set TICKWORK_SMTP_FROM")
    settings, _ = load(env=env | {"TICKWORK_SMTP_FROM": "Tickwork <t@example.com>"})
    assert shown("smtp_url", settings.smtp_url) == "smtp://me:********@mail.example"
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TICKWORK_SMTP_URL", "s3cret"),
        ("TICKWORK_SMTP_URL", "smtp+plain://me:s3cret@mail.example"),
        ("TICKWORK_SMTP_FROM", "nobody"),
        ("TICKWORK_PUBLIC_URL", "tickwork.example"),
    ],
)
def test_what_is_no_relay_sender_or_address_is_refused_without_a_password(variable, value):
    (error,) = errors_of(env={variable: value})
    assert variable in error.message
    assert "s3cret" not in error.message
