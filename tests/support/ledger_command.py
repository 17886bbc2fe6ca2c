"""A program for commands, as fast to start as Python can be: `ledger_command.py SECONDS FAILURES`.

It writes itself into the ledger, sleeps, and fails in its first attempts. It must not import what is not in Python."""

import json
import os
import signal
import sys
import time


def write(event: str, outcome: str | None = None) -> None:
    """The same line as tests/support/attempt_ledger.py writes."""
    line = {
        "event": event,
        "task": "command",
        "execution": os.environ["TICKWORK_EXECUTION_ID"],
        "attempt": int(os.environ["TICKWORK_ATTEMPT"]),
        "pid": os.getpid(),
        "at": time.time_ns() // 1000,
        "monotonic": time.monotonic_ns() // 1000,
        "outcome": outcome,
    }
    file = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)
    os.write(file, json.dumps(line, separators=(",", ":")).encode() + b"\n")


def stopped(*_: object) -> None:
    """Its worker has given it up."""
    write("stopped")
    sys.exit(1)


def main(seconds: float, failures: int) -> int:
    signal.signal(signal.SIGTERM, stopped)
    write("begun")
    time.sleep(seconds)
    fails = int(os.environ["TICKWORK_ATTEMPT"]) <= failures
    write("ended", "failed" if fails else "completed")
    return int(fails)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
