"""The messages from a child process to its worker."""

import msgspec

from tickwork.execute.attempt_ending import Ending
from tickwork.execute.log.buffer import LogBatch
from tickwork.model.worker_protocol import Micros


class Logged(msgspec.Struct, array_like=True, tag=True, frozen=True):
    now: Micros  # by the child's clock, like the times of the lines
    batch: LogBatch


class Ended(msgspec.Struct, array_like=True, tag=True, frozen=True):
    ending: Ending


FromChild = Logged | Ended
