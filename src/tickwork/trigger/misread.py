"""A schedule, or one part of it, that was not understood."""


class Misread(ValueError):
    """What is wrong and what would be right; whoever knows the name of the field adds it.

    `below` is where in that field, such as ".hour"."""

    def __init__(self, message: str, hint: str | None = None, below: str = "") -> None:
        self.message, self.hint, self.below = message, hint, below
        super().__init__(message)
