"""Tasks for child processes, which import this module by its path."""

import asyncio
import os
import signal
import subprocess
import sys
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


@app.task(name="enormous", process=True)
def enormous() -> str:
    return "x" * 300_000
