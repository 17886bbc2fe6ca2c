"""Compares the API with the contract that clients rely on: what may not change within a version of it.

`make contract` writes the contract anew. Do so when the API has grown, so that what is new is kept, too; and knowingly,
when something was taken back after its deprecation.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tickwork.api.asgi_app import ROUTES
from tickwork.api.openapi import document

CONTRACT = Path(__file__).parents[1] / "api" / "contract.json"
_WORDS = frozenset({"description", "summary", "example", "examples", "title", "tags", "info"})
_WITH_NAMES = frozenset({"properties", "schemas", "paths", "content", "responses"})
_OF_TYPES = ("anyOf", "oneOf", "allOf")

Json = dict[str, Any]


def current_contract() -> Json:
    """The document without its words."""
    contract: Json = _without_words(document(ROUTES))
    return contract


def stored_contract() -> Json:
    stored: Json = msgspec.json.decode(CONTRACT.read_bytes())
    return stored


def breaks(old: Json, new: Json) -> list[str]:
    """What a client that keeps to the old document would trip over."""
    return list(dict.fromkeys(_Comparison(old, new).breaks()))


class _Comparison:
    def __init__(self, old: Json, new: Json) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def breaks(self) -> Iterator[str]:
        for path, operations in self._old["paths"].items():
            for method, operation in operations.items():
                place = f"{method.upper()} {path}"
                now = self._new["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{place} is gone"
                else:
                    yield from self._operation(place, operation, now)

    def _operation(self, place: str, old: Json, new: Json) -> Iterator[str]:
        yield from self._parameters(place, old, new)
        if new.get("requestBody", {}).get("required") and not old.get("requestBody", {}).get("required"):
            yield f"{place}: a body is required now"
        yield from self._contents(place, old.get("requestBody", {}), new.get("requestBody", {}), asked=True)
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                if status.startswith("2"):
                    yield f"{place}: the answer {status} is gone"
                continue
            where = f"{place} {status}"
            yield from self._contents(where, response, new["responses"][status], asked=False)

    def _parameters(self, place: str, old: Json, new: Json) -> Iterator[str]:
        before = {(each["in"], each["name"]): each for each in old["parameters"]}
        now = {(each["in"], each["name"]): each for each in new["parameters"]}
        for key, parameter in before.items():
            if key not in now:
                yield f"{place}: the parameter {key[1]} is gone"
            else:
                where = f"{place}?{key[1]}"
                yield from self._schema(where, parameter["schema"], now[key]["schema"], asked=True)
        for key, parameter in now.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{place}: the parameter {key[1]} is required now"

    def _contents(self, place: str, old: Json, new: Json, *, asked: bool) -> Iterator[str]:
        for media, content in old.get("content", {}).items():
            if media not in new.get("content", {}):
                yield f"{place}: {media} is gone"
            else:
                yield from self._schema(
                    place, content["schema"], new["content"][media]["schema"], asked=asked
                )

    def _schema(self, place: str, old: Json, new: Json, *, asked: bool) -> Iterator[str]:
        """`asked`: of a request, where less may not be taken; otherwise of an answer, where less may not be given."""
        names = old.get("$ref", ""), new.get("$ref", "")
        if all(names):
            if (*names, asked) in self._seen:
                return
            self._seen.add((*names, asked))
        old, new = _resolved(self._old, old), _resolved(self._new, new)
        yield from self._types(place, old, new, asked=asked)
        yield from self._properties(place, old, new, asked=asked)
        if "items" in old and "items" in new:
            yield from self._schema(f"{place}[]", old["items"], new["items"], asked=asked)

    def _types(self, place: str, old: Json, new: Json, *, asked: bool) -> Iterator[str]:
        before, now = (_choices(*each) for each in ((self._old, old), (self._new, new)))
        for name in before.keys() - now.keys() if before and now else ():
            if asked or name in ("object", "array"):
                yield f"{place}: {name} is no longer possible"
        for name, choice in before.items():
            other = now.get(name)
            if other is None:
                continue
            for value in _enum(choice) - _enum(other) if _enum(other) else ():
                yield f"{place}: the value {value!r} is gone"
            if choice is not old or other is not new:
                yield from self._properties(place, choice, other, asked=asked)

    def _properties(self, place: str, old: Json, new: Json, *, asked: bool) -> Iterator[str]:
        if "properties" not in old:
            return
        now = new.get("properties", {})
        for name, schema in old["properties"].items():
            if name not in now:
                yield f"{place}: the field {name} is gone"
            else:
                yield from self._schema(f"{place}.{name}", schema, now[name], asked=asked)
        before_required, now_required = set(old.get("required", ())), set(new.get("required", ()))
        if asked:
            yield from (
                f"{place}: the field {name} is required now" for name in now_required - before_required
            )
        else:
            lost = before_required - now_required
            yield from (f"{place}: the field {name} may be missing now" for name in lost)


def _resolved(whole: Json, schema: Json) -> Json:
    while "$ref" in schema:
        schema = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _choices(whole: Json, schema: Json) -> dict[str, Json]:
    """The types that a schema allows, each with its own schema."""
    found: dict[str, Json] = {}
    for word in _OF_TYPES:
        for choice in schema.get(word, ()):
            found |= _choices(whole, _resolved(whole, choice))
    kinds = schema.get("type", ())
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        found[kind] = schema
    if "enum" in schema and "type" not in schema:
        found["string"] = schema
    return found


def _enum(schema: Json) -> set[Any]:
    return set(schema.get("enum", ()))


def _without_words(value: Any, *, has_names: bool = False) -> Any:
    """`has_names`: its keys are names that the API gives, such as those of fields."""
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_words(each, has_names=not has_names and name in _WITH_NAMES)
        for name, each in value.items()
        if has_names or name not in _WORDS
    }


if __name__ == "__main__":
    text = msgspec.json.format(msgspec.json.encode(current_contract(), order="sorted"), indent=1)
    CONTRACT.write_bytes(text + b"\n")
