"""Tasks for child processes, which import this module by its path."""

import asyncio
import ctypes
import faulthandler
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tickwork import App, Context, NoRetry, Snooze

app = App()


@app.task(name="where", process=True)
def where() -> int:
    print("this goes to stderr")  # noqa: T201
    return os.getpid()


@app.task(name="describe", process=True)
async def describe(words: list[str], ctx: Context) -> str:
    await asyncio.sleep(0)
    ctx.log.info("described")
    return f"{' '.join(words)} {ctx.execution_id} {ctx.attempt}"


@app.task(name="fail", process=True)
def fail(how: str) -> None:
    match how:
        case "snooze":
            raise Snooze(9)
        case "no retry":
            raise NoRetry("never")
        case "exit":
            sys.exit(4)
        case "die":
            os._exit(5)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError(how)


@app.task(name="poison", process=True)
def poison(how: str) -> None:
    match how:
        case "segfault":
            faulthandler.disable()
            ctypes.string_at(0)
        case "memory":
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
            bytearray(1 << 31)
        case "bombs":
            for _ in range(20):
                if os.fork() == 0:
                    time.sleep(600)
            os._exit(6)
        case "unseen":
            if os.fork() == 0:
                os.setsid()  # out of reach, with our standard output in its hands
                time.sleep(60)
            os._exit(7)
        case "wordy":
            raise ValueError("x" * 1_000_000)


@app.task(name="hang", process=True)
def hang(began: str) -> None:
    """Cannot be stopped by anything but a kill, and starts a child of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with Path(began).open("w") as pipe:
        pipe.write(f"{os.getpid()} {sleeper.pid}")
    time.sleep(600)


@app.task(name="hang_briefly", process=True)
def hang_briefly() -> None:
    time.sleep(600)


@app.task(name="spin", process=True)
def spin() -> None:
    while True:
        pass


@app.task(name="considerate", process=True)
def considerate(began: str, ended: str, ctx: Context) -> None:
    Path(began).touch()
    while not ctx.cancelled:
        time.sleep(0.001)
    Path(ended).touch()


@app.task(name="considerate_too", process=True)
async def considerate_too(began: str, ended: str, ctx: Context) -> None:
    Path(began).touch()  # noqa: ASYNC240 (it has the process for itself)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        assert ctx.cancelled
        Path(ended).touch()  # noqa: ASYNC240 (likewise)


@app.task(name="unwritable", process=True)
def unwritable() -> object:
    return object()


@app.task(name="log_level", process=True)
def log_level() -> str:
    return logging.getLevelName(logging.getLogger().level)


@app.task(name="enormous", process=True)
def enormous() -> str:
    return "x" * 300_000


@app.task(name="speak", process=True)
def speak(ctx: Context) -> None:
    ctx.log.info("sent", to="Ada Lovelace")
    print("printed")  # noqa: T201
    print("wrong", file=sys.stderr)  # noqa: T201
    logging.getLogger("library").warning("%s of %d", "one", 2)
    thread = threading.Thread(target=print, args=("from a thread",))
    thread.start()
    thread.join()
    ctx.progress(0.5, "half way")


@app.task(name="speak_and_wait", process=True)
def speak_and_wait(go_on: str, ctx: Context) -> None:
    ctx.progress(0.25, "waiting")
    print("waiting")  # noqa: T201
    while not Path(go_on).exists():
        time.sleep(0.01)
    print("unfinished", end="")  # noqa: T201


@app.task(name="speak_and_die", process=True)
def speak_and_die(go_on: str) -> None:
    print("last words")  # noqa: T201
    while not Path(go_on).exists():
        time.sleep(0.01)
    os._exit(5)


@app.task(name="flood", process=True)
def flood(lines: int) -> None:
    for number in range(lines):
        print(f"line {number}")  # noqa: T201
