"""Values of every kind that tasks take and give: written at submit, read by the worker, and back again."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import jsonschema_rs
import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field

from tickwork import App, Invalid
from tickwork.execute.attempt_ending import ending_of_value
from tickwork.model import python_values_to_json as codec
from tickwork.sdk.submitted_job_handle import Handle


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    city: str
    inside: "Place | None" = None


class Order(msgspec.Struct):
    id: int
    prices: list[Decimal] = []


class Note(TypedDict):
    text: str


class Point(NamedTuple):
    x: float
    y: float


class Address(BaseModel):
    city: str
    since: datetime


class Person(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(min_length=1)
    addresses: list[Address] = []
    knows: "list[Person]" = []


ANN = Person(name="Ann", addresses=[Address(city="Rome", since=datetime(2026, 1, 1, tzinfo=UTC))])
VALUES = [
    (Size.LARGE, Size),
    (Level.HIGH, Level),
    (Place("Rome", Place("Italy")), Place),
    (Order(1, [Decimal("0.10")]), Order),
    (Note(text="a"), Note),
    (Point(1.0, 2.0), Point),
    (ANN, Person),
    ([ANN], list[Person]),
    ({"ann": ANN}, dict[str, Person]),
    (Person(name="Bob", knows=[ANN]), Person | None),
    (datetime(2026, 1, 1, tzinfo=UTC), datetime),
    (date(2026, 1, 1), date),
    (timedelta(seconds=90), timedelta),
    (UUID(int=7), UUID),
    (Decimal("1.10"), Decimal),
    ({1: 2}, dict[int, int]),
    ({"a"}, set[str]),
]


def task_of(kind: Any, *, name: str = "f") -> Any:
    def f(value: Any, other: int = 1) -> Any: ...

    f.__annotations__ = {"value": kind, "other": int, "return": kind}
    return App().task(name=name)(f)


@pytest.mark.parametrize(("value", "kind"), VALUES, ids=str)
def test_a_worker_reads_what_was_submitted(value: Any, kind: Any) -> None:
    task = task_of(kind)
    request = task.request_for(value)
    schema = jsonschema_rs.Draft202012Validator(task.definition.parameters)
    assert schema.is_valid(request.payload)
    assert task.definition.decode(msgspec.json.encode(request.payload)) == {"value": value, "other": 1}


@pytest.mark.parametrize(("value", "kind"), VALUES, ids=str)
def test_the_result_comes_back_as_the_type_that_the_function_says(value: Any, kind: Any) -> None:
    class Ended:
        status = "completed"
        result = msgspec.json.decode(ending_of_value(value).result or b"")

    assert codec.convert(Ended.result, kind) == value
    assert Handle("j1", kind, None)._result_type is kind


def test_two_models_of_one_name_have_each_their_own_schema() -> None:
    def other() -> type[BaseModel]:
        class Address(BaseModel):
            zip: int

        class Person(BaseModel):
            addresses: list[Address]

        return Person

    def f(one: Person, two: Any) -> None: ...

    f.__annotations__ |= {"two": other()}
    schema = jsonschema_rs.Draft202012Validator(App().task(f).definition.parameters)
    right = {"one": {"name": "Ann"}, "two": {"addresses": [{"zip": 1}]}}
    assert schema.is_valid(right)
    assert not schema.is_valid(right | {"two": {"addresses": [{"city": "Rome"}]}})
    assert not schema.is_valid({"one": {"name": ""}, "two": {"addresses": []}})


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Size, "lagre", 'payload.value: must be one of small, large; got "lagre" (did you mean \'large\'?)'),
        (Literal["a", "b"], "c", 'payload.value: must be one of a, b; got "c"'),
        (list[Size], ["tiny"], 'payload.value[0]: must be one of small, large; got "tiny"'),
        (UUID, "x", 'payload.value: must be a UUID; got "x"'),
        (Place, {"city": 1}, "payload.value.city: Expected `str`, got `int`"),
        (Order, {"id": "x"}, 'payload.value.id: must be a whole number; got "x"'),
        (Person, {"name": ""}, "payload.value: name: String should have at least 1 character"),
        (Person, {"name": "A", "addresses": [{"city": "x"}]}, "payload.value: addresses.0.since: Field required"),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_name_of_the_argument(kind: Any, value: Any, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        task_of(kind).request_for(value)
    assert str(refused.value) == said


def test_every_argument_that_does_not_fit_is_named() -> None:
    with pytest.raises(Invalid) as refused:
        task_of(Size).request_for("tiny", other="many")
    assert [error.path for error in refused.value.errors] == ["payload.value", "payload.other"]


def test_what_json_cannot_carry_is_refused_with_the_name_of_the_argument() -> None:
    with pytest.raises(Invalid, match=r"payload\.value: cannot be written as JSON: JSON cannot carry object"):
        task_of(Any).request_for(object())


def test_a_result_that_json_cannot_carry_fails_the_attempt() -> None:
    ending = ending_of_value(object())
    assert ending.failure
    assert ending.failure.type == "BadResult"
    assert "JSON cannot carry object" in ending.failure.message
