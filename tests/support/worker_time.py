"""A worker's own clock, moved by hand."""


class WorkerTime:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
