"""Tasks that record spans of their own."""

import logging

from opentelemetry.trace import get_tracer

from tickwork import App

app = App()
_tracer = get_tracer("of the user")


def _work(kind: str) -> None:
    with _tracer.start_as_current_span(f"inside {kind}"):
        logging.getLogger("of the user").warning("working in a %s", kind)


@app.task(name="in_coroutine")
async def in_coroutine() -> None:
    _work("coroutine")


@app.task(name="in_thread")
def in_thread() -> None:
    _work("thread")


@app.task(name="in_process", process=True)
def in_process() -> None:
    _work("process")


@app.task(name="submits")
async def submits() -> None:
    await in_thread.submit_async()


@app.task(name="fails")
async def fails() -> None:
    raise LookupError("nothing there")
