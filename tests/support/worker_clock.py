"""A worker's own clock, moved by hand."""


class WorkerClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
