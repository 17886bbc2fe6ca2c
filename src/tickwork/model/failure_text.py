"""Others' words about what went wrong, fit for a terminal and for a line of a log."""

TIMEOUT = "Timeout"  # the type of the failure of an attempt that took too long
_LONGEST = 300


def printable(text: str) -> str:
    """What would steer a terminal is shown, not done; lines and tabs stay."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in text
    )


def one_line(kind: str, message: str) -> str:
    """The type and the message; of a long one, its beginning."""
    text = " ".join(f"{kind}: {message[:_LONGEST]}".split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
