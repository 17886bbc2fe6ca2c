"""Warns that a request used a part of the API that will be removed, once for each operation."""

import warnings
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from tickwork.client.build_requests import Call

_warned: set[tuple[str, ...]] = set()
_OWN_FRAMES = 8  # about as many as are between a user's call and here


class ApiDeprecationWarning(DeprecationWarning):
    """A request used a part of the API that will be removed."""


def warn_if_deprecated(call: Call[Any], response: httpx2.Response) -> None:
    if "Deprecation" not in response.headers:
        return
    operation = (call.method, *call.path[::2], *sorted(call.query))  # without ids
    if operation not in _warned:
        _warned.add(operation)
        warnings.warn(_words(call, response), ApiDeprecationWarning, stacklevel=_OWN_FRAMES)


def _words(call: Call[Any], response: httpx2.Response) -> str:
    what = f"{call.method} /v1/{'/'.join(call.path)}"
    return f"{what} uses a part of the API that is deprecated{_end(response)}{_page(response)}"


def _end(response: httpx2.Response) -> str:
    try:
        return f" and may be gone after {parsedate_to_datetime(response.headers['Sunset']):%Y-%m-%d}"
    except (KeyError, ValueError):
        return ""


def _page(response: httpx2.Response) -> str:
    for link in response.headers.get("Link", "").split(","):
        target, _, parameters = link.strip().partition(">")
        if target.startswith("<") and 'rel="deprecation"' in parameters:
            return f": see {response.request.url.join(target[1:])}"
    return ""
