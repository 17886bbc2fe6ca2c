"""Workers and servers of neighbouring versions understand each other."""

import msgspec

from tickwork.model.worker_protocol import Run

BEFORE_TRACES = [field for field in Run.__struct_fields__ if field != "traceparent"]
OldRun = msgspec.defstruct(
    "OldRun", [(field, Run.__annotations__[field]) for field in BEFORE_TRACES], array_like=True, frozen=True
)
VALUES = (1, 2, 3, 1, "work", b"{}", 60.0, 2, None, 2, 0, None)


def test_an_older_worker_runs_what_a_server_with_traces_sends() -> None:
    sent = msgspec.msgpack.encode(Run(*VALUES, traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01"))
    assert msgspec.structs.astuple(msgspec.msgpack.decode(sent, type=OldRun)) == VALUES


def test_a_worker_runs_what_an_older_server_sends() -> None:
    run = msgspec.msgpack.decode(msgspec.msgpack.encode(OldRun(*VALUES)), type=Run)
    assert run == Run(*VALUES)
    assert run.traceparent is None
