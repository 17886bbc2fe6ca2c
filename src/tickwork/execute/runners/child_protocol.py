"""The messages between a worker and its child process.

Each message has its length in front. The worker sends a Begin, or CANCEL while the child runs it; the child answers
with any number of Logged and one Ended. Each Keep of the child is answered with a Kept.
"""

import msgspec

from tickwork.execute.attempt_ending import Ending
from tickwork.execute.log.buffer import LogBatch
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.process_limits import Usage
from tickwork.model.task_checkpoints import NewCheckpoint
from tickwork.model.worker_protocol import Micros, Run

LENGTH_BYTES = 4
CANCEL = b""


class Begin(msgspec.Struct, array_like=True, tag=True, frozen=True):
    run: Run
    stored: StoredCheckpoint  # by earlier attempts


class Kept(msgspec.Struct, array_like=True, tag=True, frozen=True):
    number: int  # of the checkpoint within its attempt
    error: str | None = None  # None: it is stored
    is_lost: bool = False  # the attempt is no longer the worker's


ToChild = Begin | Kept


class Logged(msgspec.Struct, array_like=True, tag=True, frozen=True):
    now: Micros  # by the child's clock, like the times of the lines
    batch: LogBatch


class Ended(msgspec.Struct, array_like=True, tag=True, frozen=True):
    ending: Ending
    usage: Usage


class Keep(msgspec.Struct, array_like=True, tag=True, frozen=True):
    checkpoint: NewCheckpoint


FromChild = Logged | Ended | Keep
