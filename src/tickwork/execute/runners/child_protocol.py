"""The messages between a worker and its child process.

Each message has its length in front. The worker sends a Run, or CANCEL while the child runs it; the child answers with
any number of Logged and one Ended.
"""

import msgspec

from tickwork.execute.attempt_ending import Ending
from tickwork.execute.log.buffer import LogBatch
from tickwork.model.worker_protocol import Micros

LENGTH_BYTES = 4
CANCEL = b""


class Logged(msgspec.Struct, array_like=True, tag=True, frozen=True):
    now: Micros  # by the child's clock, like the times of the lines
    batch: LogBatch


class Ended(msgspec.Struct, array_like=True, tag=True, frozen=True):
    ending: Ending


FromChild = Logged | Ended
