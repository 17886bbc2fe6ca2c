"""Renders the Helm chart, as far as its templates go: just what they use of Go's template language and of Helm's
functions. Anything else fails, so a chart that this renders is plain."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_TAG = re.compile(r"(\s*)\{\{(-?)(.*?)(-?)\}\}(\s*)", re.DOTALL)
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\(|\)|\||[^\s()|]+')
_BLOCKS = ("if", "with", "range", "define")


class Block(NamedTuple):
    word: str  # if, with, range, define, or "" for the whole
    of: str  # what follows the word
    body: list[Any]  # texts, actions (strings that begin with {{) and blocks
    otherwise: list[Any]


def render_chart(folder: Path, values: Mapping[str, Any], release: str = "release") -> dict[str, list[Any]]:
    """The objects of each template, by the name of its file."""
    chart = yaml.safe_load((folder / "Chart.yaml").read_text())
    defaults = yaml.safe_load((folder / "values.yaml").read_text())
    root = {
        "Values": _merged(defaults, values),
        "Chart": {"Name": chart["name"], "AppVersion": chart["appVersion"]},
        "Release": {"Name": release, "Service": "Helm", "Revision": 1},
    }
    defined: dict[str, Block] = {}
    for file in sorted((folder / "templates").glob("*.tpl")):
        _Renderer(root, defined).render(_parsed(file.read_text()), root, {})
    return {
        file.name: [each for each in yaml.safe_load_all(_text(file, root, defined)) if each]
        for file in sorted((folder / "templates").glob("*.yaml"))
    }


def _text(file: Path, root: Mapping[str, Any], defined: dict[str, Block]) -> str:
    return _Renderer(root, defined).render(_parsed(file.read_text()), root, {"$": root})


def _merged(defaults: Any, given: Any) -> Any:
    if not (isinstance(defaults, Mapping) and isinstance(given, Mapping)):
        return given
    return {**defaults, **{name: _merged(defaults.get(name), value) for name, value in given.items()}}


def _parsed(text: str) -> Block:
    stack = [Block("", "", [], [])]
    parts = [stack[0].body]
    for piece in _pieces(text):
        if not piece.startswith("{{"):
            parts[-1].append(piece)
            continue
        word, _, rest = piece[2:].partition(" ")
        if word in _BLOCKS:
            block = Block(word, rest.strip(), [], [])
            parts[-1].append(block)
            stack.append(block)
            parts.append(block.body)
        elif word == "else" and not rest:
            parts[-1] = stack[-1].otherwise
        elif word == "end":
            stack.pop()
            parts.pop()
        else:
            parts[-1].append(piece)
    assert len(stack) == 1, "a block is not ended"
    return stack[0]


def _pieces(text: str) -> Iterator[str]:
    """Texts, and actions that begin with {{. A dash eats the white space on its side."""
    at = 0
    for found in _TAG.finditer(text):
        before, trims, action, trims_after, after = found.groups()
        yield text[at : found.start()] + ("" if trims else before)
        if not action.strip().startswith("/*"):
            yield "{{" + action.strip()
        at = found.end() - (0 if trims_after else len(after))
    yield text[at:]


class _Renderer:
    def __init__(self, root: Mapping[str, Any], defined: dict[str, Block]) -> None:
        self._root = root
        self._defined = defined
        self._functions: dict[str, Callable[..., Any]] = {
            "include": self._include,
            "quote": lambda value: f'"{value}"',
            "toYaml": lambda value: yaml.safe_dump(value, default_flow_style=False, width=200).rstrip("\n"),
            "nindent": lambda count, text: "\n" + _indented(text, count),
            "default": lambda fallback, value=None: value or fallback,
            "and": lambda *all_: next((each for each in all_ if not each), all_[-1]),
            "not": lambda value: not value,
        }

    def render(self, block: Block, dot: Any, variables: Mapping[str, Any]) -> str:
        return self._parts(block.body, dot, variables)

    def _parts(self, parts: list[Any], dot: Any, variables: Mapping[str, Any]) -> str:
        return "".join(self._part(part, dot, variables) for part in parts)

    def _part(self, part: Any, dot: Any, variables: Mapping[str, Any]) -> str:
        if isinstance(part, Block):
            return self._block(part, dot, variables)
        if not part.startswith("{{"):
            return str(part)
        value = self._value(part[2:], dot, variables)
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    def _block(self, block: Block, dot: Any, variables: Mapping[str, Any]) -> str:
        if block.word == "define":
            self._defined[block.of.strip('"')] = block
            return ""
        names, _, expression = block.of.rpartition(":=")
        value = self._value(expression, dot, variables)
        if not value:
            return self._parts(block.otherwise, dot, variables)
        if block.word == "if":
            return self._parts(block.body, dot, variables)
        if block.word == "with":
            return self._parts(block.body, value, variables)
        return "".join(
            self._parts(block.body, item, {**variables, **bound}) for item, bound in _items(value, names)
        )

    def _value(self, expression: str, dot: Any, variables: Mapping[str, Any]) -> Any:
        words = _WORD.findall(expression)
        value, piped = self._pipeline(words, dot, variables)
        assert not piped, f"not understood: {expression}"
        return value

    def _pipeline(self, words: list[str], dot: Any, variables: Mapping[str, Any]) -> tuple[Any, list[str]]:
        """The value of the words up to a closing parenthesis, and the words after it."""
        value: Any = None
        has_value = False
        while words and words[0] != ")":
            arguments: list[Any] = []
            name = words[0]
            called = self._functions.get(name)
            if called:
                words = words[1:]
            while words and words[0] not in ("|", ")"):
                argument, words = self._operand(words, dot, variables)
                arguments.append(argument)
            if has_value:
                arguments.append(value)
            assert called or len(arguments) == 1, f"not understood: {name}"
            value, has_value = (called(*arguments) if called else arguments[0]), True
            words = words[1:] if words and words[0] == "|" else words
        return value, words[1:]

    def _operand(self, words: list[str], dot: Any, variables: Mapping[str, Any]) -> tuple[Any, list[str]]:
        word, rest = words[0], words[1:]
        if word == "(":
            return self._pipeline(rest, dot, variables)
        if word.startswith('"'):
            return word[1:-1].replace('\\"', '"'), rest
        if re.fullmatch(r"\d+", word):
            return int(word), rest
        assert word.startswith((".", "$")), f"not understood: {word}"
        first, *fields = word.split(".")
        value = variables[first] if first else dot
        for field in filter(None, fields):
            value = value.get(field) if isinstance(value, Mapping) else None
        return value, rest

    def _include(self, name: str, dot: Any) -> str:
        return self.render(self._defined[name], dot, {"$": self._root})


def _items(value: Any, names: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    variables = [name.strip() for name in names.split(",")] if names else []
    pairs = sorted(value.items()) if isinstance(value, Mapping) else enumerate(value)
    for key, item in pairs:
        yield (
            item,
            dict(zip(variables[-2:], (key, item)[-len(variables) :], strict=True)) if variables else {},
        )


def _indented(text: str, count: int) -> str:
    return "\n".join(" " * count + line if line else line for line in str(text).split("\n"))
