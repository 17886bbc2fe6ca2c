"""The token that lets the target of an HTTP job report on one attempt, and on nothing else.

It is derived from a secret of the database, so that it is stored nowhere and any node can check it without a query. The
tenant's signing secret would not do: every target knows it, and could report on the attempts of another one.
"""

import hmac
import re
from base64 import urlsafe_b64encode

_PREFIX = "twc"
_TOKEN = re.compile(rf"{_PREFIX}_(?P<attempt>[1-9][0-9]{{0,9}})_[A-Za-z0-9_-]{{43}}")
LONGEST_TOKEN = 100


def callback_token(secret: bytes, execution_id: str, attempt: int) -> str:
    signature = hmac.digest(secret, f"{execution_id}.{attempt}".encode(), "sha256")
    return f"{_PREFIX}_{attempt}_{urlsafe_b64encode(signature).decode().rstrip('=')}"


def attempt_of_token(secret: bytes, execution_id: str, token: str) -> int | None:
    """The attempt that the token is for; None if it is not a token of this execution."""
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        return None
    attempt = int(parts["attempt"])
    genuine = callback_token(secret, execution_id, attempt)
    return attempt if hmac.compare_digest(genuine.encode(), token.encode()) else None
