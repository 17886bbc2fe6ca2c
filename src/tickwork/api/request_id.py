"""The id of a request in responses and logs: the one that the client sent, or a new one."""

import re
from secrets import token_hex

from tickwork.api.request_headers import RawHeaders

_VISIBLE = re.compile(rb"[\x21-\x7e]{1,128}")


def request_id_of(headers: RawHeaders) -> str:
    given = headers.get(b"x-request-id", b"")
    return given.decode("ascii") if _VISIBLE.fullmatch(given) else token_hex(12)
