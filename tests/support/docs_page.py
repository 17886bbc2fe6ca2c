"""A page of the documentation, as somebody reads it who types what it says."""

import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_VARIES = re.compile(  # what is another on every machine and in every run
    r"(?P<execution>\be[0-9a-z]+-[0-9a-z]+)"
    r"|(?P<worker>\bw\d+\b)"
    r"|(?P<job>\bj\d+\b)"
    r"|(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[\d.]+(?:Z|[+-]\d\d:\d\d))"
    r"|(?P<local>[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [A-Z]+)"
    r"|(?P<age>\bnow\b|(?:\bin )?\b(?:\d+(?:ms|[smhd]))+\b(?: ago)?)"
    r"|(?P<port>(?<=127\.0\.0\.1:)\d+)"
    r"|(?P<folder>/\S+)/.tickwork"
    r"|(?P<anything>…)"
    r"|(?P<space>\s+)"
)
_LIKE_IT = {
    "execution": r"e[0-9a-z]+-[0-9a-z]+",
    "worker": r"w\d+",
    "job": r"j\d+",
    "time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[\d.]+(?:Z|[+-]\d\d:\d\d)",
    "local": r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [A-Z]+",
    "age": r"(?:now|(?:in )?(?:\d+(?:ms|[smhd]))+(?: ago)?)",
    "port": r"\d+",
    "folder": r"/\S+/\.tickwork",
    "anything": r".*?",
    "space": r"\s+",
}


class Block(NamedTuple):
    language: str
    text: str


class Step(NamedTuple):
    typed: str
    shown: str  # nothing, when the page does not show what comes of it


def blocks(text: str) -> list[Block]:
    return [Block(fence["language"], fence["text"]) for fence in _FENCE.finditer(text)]


def steps(text: str) -> list[Step]:
    """Each block of commands with the text that follows it."""
    pairs = pairwise([*blocks(text), Block("", "")])
    return [
        Step(block.text, after.text if after.language == "text" else "")
        for block, after in pairs
        if block.language == "sh"
    ]


def section(text: str, heading: str) -> str:
    """From a heading of the second level to the next one."""
    _, _, rest = text.partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0]


def looks_like(actual: str, shown: str) -> bool:
    """Whether it is what the page shows, but for what varies: ids, times, ports, folders, and `…`."""
    return re.fullmatch(_pattern(shown.strip()), actual.strip(), re.DOTALL) is not None


def _pattern(shown: str) -> str:
    pattern, done = "", 0
    for match in _VARIES.finditer(shown):
        pattern += re.escape(shown[done : match.start()]) + _LIKE_IT[match.lastgroup or ""]
        done = match.end()
    return pattern + re.escape(shown[done:])
