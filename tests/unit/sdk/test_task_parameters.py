"""Functions as tasks: which payloads fit them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import jsonschema_rs
import msgspec
import pytest
from msgspec import Meta

from tickwork.model.errors import Invalid
from tickwork.model.task_context import Context
from tickwork.sdk.task_parameters import read_signature

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Place:
    city: str
    inside: "Place | None" = None


def test_reads_a_payload_as_the_types_say():
    def f(at: datetime, place: Place, tags: set[str], size: Annotated[int, Meta(ge=1)] = 1) -> None: ...

    decode = read_signature(f).decode
    arguments = decode(b'{"at": "2026-01-01T00:00:00Z", "place": {"city": "Rome"}, "tags": ["a", "a"]}')
    assert arguments == {
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "place": Place("Rome"),
        "tags": {"a"},
        "size": 1,
    }
    with pytest.raises(ValueError, match="size"):
        decode(b'{"at": "2026-01-01T00:00:00Z", "place": {"city": "Rome"}, "tags": [], "size": 0}')


def test_the_schema_accepts_what_the_function_does():
    def f(place: Place, note: str | None = None) -> None: ...

    schema = read_signature(f).schema
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"place": {"city": "Rome", "inside": {"city": "Italy"}}})
    assert not validator.is_valid({"place": {"city": 1}})
    assert not validator.is_valid({"place": {"city": "Rome"}, "other": 1})
    assert list(schema["$defs"]) == ["Place"]


def test_a_type_with_the_functions_name_does_not_confuse_the_schema():
    class Report(msgspec.Struct):
        x: int

    def report(report: Report) -> None: ...

    report.__name__ = "Report"
    report.__annotations__["report"] = Report
    assert list(read_signature(report).schema["$defs"]) == ["Report"]


def test_no_payload_is_an_empty_one():
    def f(a: int = 1) -> None: ...

    decode = read_signature(f).decode
    assert decode(b"null") == decode(b"{}") == decode(b"") == {"a": 1}


def test_defaults_are_the_functions_own():
    marker = object()

    def f(a: list[int] = [1, 2], b: Any = marker) -> None: ...  # noqa: B006

    arguments = read_signature(f).decode(b"{}")
    assert arguments == {"a": [1, 2], "b": marker}


@pytest.mark.parametrize("how", ["named", "annotated", "optional", "unannotated"])
def test_the_context_is_no_part_of_the_payload(how):
    def named(a: int, *, ctx: Context) -> None: ...
    def annotated(run: Context, a: int) -> None: ...
    def optional(a: int, ctx: Context | None = None) -> None: ...
    def unannotated(a, ctx) -> None: ...

    read = read_signature(locals()[how])
    assert read.context_parameter == ("run" if how == "annotated" else "ctx")
    assert list(read.schema["properties"]) == ["a"]
    assert list(read.arguments.parameters) == ["a"]


def test_a_parameter_that_is_only_called_ctx_is_an_ordinary_one():
    def f(ctx: str) -> None: ...

    assert read_signature(f).decode(b'{"ctx": "x"}') == {"ctx": "x"}


def test_keyword_arguments_take_everything_else():
    def f(a: int, **others: Any) -> None: ...

    read = read_signature(f)
    assert read.decode(b'{"a": 1, "b": [2]}') == {"a": 1, "b": [2]}
    assert "additionalProperties" not in read.schema
    with pytest.raises(ValueError, match="int"):
        read.decode(b'{"a": "1"}')


def test_parameters_without_a_name_are_refused():
    def star(*numbers: int) -> None: ...
    def slash(a: int, /) -> None: ...

    for function in (star, slash):
        with pytest.raises(Invalid, match="has no name in a payload"):
            read_signature(function)


def test_a_type_that_json_cannot_carry_is_refused():
    def f(place: object, thread: type(pytest)) -> None: ...  # type: ignore[valid-type]

    with pytest.raises(Invalid, match=r"f\(place\): JSON cannot carry object") as refused:
        read_signature(f)
    assert [error.path.rpartition("(")[2] for error in refused.value.errors] == ["place)", "thread)"]


def test_an_annotation_that_is_not_there_at_run_time_is_explained():
    def f(price: "Decimal") -> None: ...

    with pytest.raises(Invalid) as caught:
        read_signature(f)
    assert "Decimal" in str(caught.value)
    assert "TYPE_CHECKING" in (caught.value.errors[0].hint or "")
