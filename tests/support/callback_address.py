"""Where targets of HTTP jobs would report, for tests that have no server."""

from tickwork.execute.runners.http.build_request import Callback


def callback_of(execution: str, attempt: int) -> Callback:
    return Callback(f"http://127.0.0.1:8080/v1/callbacks/{execution}", f"token-of-attempt-{attempt}")
