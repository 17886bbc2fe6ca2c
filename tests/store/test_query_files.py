"""How the SQL is written: a reader finds a name, a sentence, and what each CTE contains."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tickwork.store import query_files

_STORE = Path(query_files.__file__).parent
_QUERIES = sorted((_STORE / "queries").glob("*.sql"))
_SQL = [*_QUERIES, *sorted((_STORE / "migrations").glob("*.sql"))]
_POINTER = "-- How to read these queries: README.md\n"
_LONGEST = 120
_QUERY = re.compile(r"^-- name: (\w+)\n((?:-- .*\n)*)", re.MULTILINE)
_SNIPPET = re.compile(r"^-- snippet: (\w+)\n((?:-- .*\n)*)", re.MULTILINE)
_SENTENCE = re.compile(r"[A-Z+].*\.", re.DOTALL)
_CTE = re.compile(r"(?:^|WITH |RECURSIVE |\), )(\w+) AS (?:MATERIALIZED )?\($")

of_each_file = pytest.mark.parametrize("file", _SQL, ids=lambda file: file.name)
of_each_query_file = pytest.mark.parametrize("file", _QUERIES, ids=lambda file: file.name)


def _queries(file: Path, kind: re.Pattern[str] = _QUERY) -> Iterator[tuple[str, str]]:
    """The name of each query, and the comment above it."""
    for match in kind.finditer(file.read_text("utf-8")):
        yield match[1], match[2].replace("-- ", "").strip()


@of_each_query_file
def test_every_file_says_where_its_idioms_are_explained(file: Path) -> None:
    assert file.read_text("utf-8").startswith(_POINTER)


@of_each_query_file
def test_every_query_has_a_sentence_above_it(file: Path) -> None:
    assert [name for name, said in _queries(file) if not _SENTENCE.fullmatch(said)] == []


@of_each_query_file
def test_every_snippet_has_a_sentence_above_it_and_is_shared(file: Path) -> None:
    snippets = dict(_queries(file, _SNIPPET))
    assert [name for name, said in snippets.items() if not _SENTENCE.fullmatch(said)] == []
    included = Counter(re.findall(r"^ *-- include: (\w+)$", file.read_text("utf-8"), re.MULTILINE))
    assert included.keys() == snippets.keys()
    assert [name for name, count in included.items() if count == 1] == []


@of_each_query_file
def test_every_file_is_named_after_the_module_that_uses_it(file: Path) -> None:
    modules = [
        _STORE / f"{file.stem}.py",
        _STORE / f"{file.stem}_store.py",
        *(_STORE / file.stem).glob("*.py"),
    ]
    texts = [module.read_text("utf-8") for module in modules if module.exists()]
    assert any(f'queries("{file.stem}")' in text for text in texts)


@of_each_file
def test_every_cte_says_what_it_holds(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    ctes = [
        (match[1], below.lstrip().startswith("-- "))
        for line, below in pairwise(lines)
        if (match := _CTE.search(line.strip()))
    ]
    assert [name for name, is_explained in ctes if not is_explained] == []


@of_each_file
def test_no_line_is_too_long(file: Path) -> None:
    lines = enumerate(file.read_text("utf-8").splitlines(), start=1)
    assert [number for number, line in lines if len(line) > _LONGEST] == []


def test_no_two_queries_have_the_same_name() -> None:
    names = Counter(name for file in _QUERIES for name, _ in _queries(file))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_query_is_used() -> None:
    program = "\n".join(path.read_text("utf-8") for path in _STORE.rglob("*.py"))
    names = [name for file in _QUERIES for name, _ in _queries(file)]
    assert [name for name in names if f'"{name}"' not in program] == []
