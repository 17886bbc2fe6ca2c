"""What differs between two definitions of a job."""

from typing import Any

import msgspec

from tickwork.model.access import Author
from tickwork.model.job import JobRequest
from tickwork.model.job_change_record import FieldChange, changed_fields, note_of


def job(**fields: Any) -> JobRequest:
    return msgspec.convert({"task": "report", **fields}, JobRequest)


def changes(before: JobRequest, after: JobRequest) -> dict[str, tuple[Any, Any]]:
    return {each.field: (each.old, each.new) for each in changed_fields(before, after)}


def test_names_each_field_with_its_old_and_new_value() -> None:
    before = job(schedule="every 5m", tags=["a"], owner="ann")
    after = job(schedule="0 9 * * MON", tags=["a", "b"], retry={"max_attempts": 2})
    assert changes(before, after) == {
        "schedule": ("every 5m", "0 9 * * MON"),
        "tags": (["a"], ["a", "b"]),
        "owner": ("ann", None),
        "retry.max_attempts": (4, 2),
    }


def test_a_default_that_is_named_is_no_change() -> None:
    assert changes(job(), job(queue="default", priority="normal", timeout="300s", overlap="skip")) == {}


def test_fields_of_the_payload_are_compared_one_by_one() -> None:
    before, after = job(payload={"to": "ann", "deep": {"x": 1}}), job(payload={"to": "bob", "deep": {"x": 1}})
    assert changes(before, after) == {"payload.to": ("ann", "bob")}


def http(**fields: Any) -> JobRequest:
    return msgspec.convert({"http": {"url": "https://example.com/", **fields}}, JobRequest)


def test_secrets_are_marks_and_a_new_secret_is_still_a_change() -> None:
    before = http(headers={"Authorization": "Bearer old-secret"}, url="https://example.com/?token=old-token")
    after = http(headers={"Authorization": "Bearer new-secret"}, url="https://example.com/?token=new-token")
    found = changes(before, after)
    assert found["http.headers.Authorization"] == ("***", "***")
    assert found["http.url"] == ("https://example.com/?token=***",) * 2
    assert "secret" not in repr(found)
    assert "old-token" not in repr(found)


def test_a_job_that_calls_instead_of_running_a_task_says_so() -> None:
    found = changes(job(), http())
    assert found["task"] == ("report", None)
    assert found["http.url"] == (None, "https://example.com/")


def test_long_values_are_cut_and_many_fields_are_counted() -> None:
    (long,) = changed_fields(job(), job(description="x" * 2000))
    assert len(long.new) < 310
    assert long.new.endswith("…")
    many = [FieldChange(f"payload.{number}", 0, 1) for number in range(50)]
    note = note_of(Author(3, "deploy", is_session=True), many)
    assert (len(note.fields), note.more_fields) == (30, 20)
    assert note.by is not None
    assert (note.by.key, note.by.name, note.by.session) == ("k3", "deploy", True)
