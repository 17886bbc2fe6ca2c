"""Responses as tab-separated values, for shell scripts that have no JSON parser."""

import re
from collections.abc import Iterable

from tickwork.api.reply import Reply
from tickwork.api.request_headers import RawHeaders

TSV = "text/tab-separated-values"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Line = tuple[str | float, ...]


def wants_tsv(headers: RawHeaders) -> bool:
    return TSV.encode() in headers.get(b"accept", b"")


def tsv_reply(lines: Iterable[Line], status: int = 200) -> Reply:
    text = "".join("\t".join(map(_word, line)) + "\n" for line in lines)
    return Reply(status, text.encode(), {"content-type": f"{TSV}; charset=utf-8"})


def _word(value: str | float) -> str:
    return _CONTROL.sub(" ", value) if isinstance(value, str) else f"{value:.15g}"
