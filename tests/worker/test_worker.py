"""A worker with a server and a connection that work: it gets attempts and reports outcomes."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from websockets.asyncio.server import serve
from websockets.http11 import Response

from support.worker_server import KEY, START, claim_of, run_of, working
from tickwork import App, Cancel, Context, NoRetry, Snooze
from tickwork.client.worker_websocket import WebSocketLink
from tickwork.execute import worker as worker_module
from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.worker import Worker
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.errors import Invalid, NotAllowed
from tickwork.model.public_ids import execution_id, from_micros, job_id
from tickwork.model.task import direct_task
from tickwork.model.worker_protocol import Failure, Outcomes, Recall, Recalled, Run

app = App()
color: ContextVar[str] = ContextVar("color", default="none")


@app.task(name="add")
async def add(a: int, b: int = 1) -> int:
    """Adds two numbers.

    Both are whole.
    """
    return a + b


@app.task(name="add_in_thread")
def add_in_thread(a: int, b: int = 1) -> int:
    return a + b


@app.task(name="add_later")
async def add_later(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


@app.task(name="about_me")
async def about_me(*, ctx: Context) -> list[Any]:
    ctx.progress(0.5, "half way")
    return [ctx.attempt, ctx.execution_id, ctx.job_id, ctx.scheduled_for, ctx.cancelled]


@app.task(name="paint")
async def paint(to: str, wait: bool) -> str:
    before = color.get()
    color.set(to)
    if wait:
        await asyncio.sleep(0)
    return before


@app.task(name="steer")
async def steer(how: str) -> None:
    match how:
        case "no retry":
            raise NoRetry("the account is closed")
        case "snooze":
            raise Snooze("30s")
        case "cancel":
            raise Cancel("not needed any more")
        case "exit":
            raise SystemExit(3)
        case "attempt failed":
            raise AttemptFailed(Failure("HttpStatus", "503", retry_after=7.0))
    raise ValueError(how)


@app.task(name="large")
async def large(size: int) -> str:
    return "x" * size


@app.task(name="unwritable")
async def unwritable() -> object:
    return object()


async def test_hello_has_the_workers_name_and_tasks():
    async with working(app, slots=7, name="box", queues=["mail"], labels={"region": "eu"}) as bench:
        conversation = await bench.conversation()
        hello = await conversation.welcome()
    assert (hello.name, hello.slots, hello.credit) == ("box", 7, 7)
    assert (hello.queues, hello.labels, hello.resume, hello.holding) == (["mail"], {"region": "eu"}, None, [])
    offer = next(offer for offer in hello.tasks if offer.name == "add")
    assert offer.description == "Adds two numbers."
    assert offer.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert bench.servers[0].paths == ["/v1/workers/connect"]
    assert bench.servers[0].keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize("task", ["add", "add_later", "add_in_thread"])
async def test_runs_a_batch_and_reports_each_result(task):
    async with working(app, slots=5) as bench:
        server = await bench.connected()
        await server.run(*(run_of(task, f'{{"a": {n}, "b": 1}}', job=n) for n in range(200)))
        outcomes = await server.outcomes(200)
    assert {outcome.job: outcome.result for outcome in outcomes} == {n: b"%d" % (n + 1) for n in range(200)}
    assert {outcome.kind for outcome in outcomes} == {"completed"}
    assert all(START < outcome.started <= outcome.finished for outcome in outcomes)


async def test_sends_outcomes_in_batches():
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(*(run_of("add", '{"a": 1}', job=n) for n in range(500)))
        first = await server.expect(Outcomes)
    assert len(first.items) > 100


async def test_runs_an_attempt_once_even_if_it_is_sent_twice():
    async with working(app) as bench:
        server = await bench.connected()
        server.acknowledge = False
        run = run_of("add", '{"a": 1}')
        await server.run(run, run)
        await server.run(run, run_of("add", '{"a": 1}', job=2))
        outcomes = await server.outcomes(2)
    assert [outcome.job for outcome in outcomes] == [1, 2]


async def test_does_not_start_an_attempt_before_its_due_time():
    async with working(app) as bench:
        server = await bench.connected()
        bench.clock.halt()
        due = bench.clock.database + 10_000_000
        await server.run(run_of("add", '{"a": 1}', job=1, not_before=due), run_of("add", '{"a": 1}', job=2))
        assert (await server.outcome()).job == 2
        bench.clock.advance(9.99)
        await server.run(run_of("add", '{"a": 1}', job=3))
        assert (await server.outcome()).job == 3
        bench.clock.advance(0.01 + 0.001)
        await server.run(run_of("add", '{"a": 1}', job=4))
        outcomes = await server.outcomes(2)
    early = next(outcome for outcome in outcomes if outcome.job == 1)
    assert early.started >= due


async def test_starts_an_attempt_at_its_due_time_by_its_own_timer():
    async with working(app) as bench:
        server = await bench.connected()
        due = bench.clock.database + 30_000
        await server.run(*(run_of("add", '{"a": 1}', job=n, not_before=due) for n in range(3)))
        outcomes = await server.outcomes(3)
    assert all(outcome.started >= due for outcome in outcomes)


async def test_an_attempt_that_is_not_due_takes_no_slot():
    async with working(app, slots=1) as bench:
        server = await bench.connected()
        later = bench.clock.database + 3_600_000_000
        await server.run(*(run_of("add", '{"a": 1}', job=n, not_before=later) for n in range(10)))
        await server.run(run_of("add", '{"a": 1}', job=11))
        assert (await server.outcome()).job == 11


async def test_never_runs_more_at_once_than_it_has_slots():
    app = App()
    running = most = 0

    @app.task(name="count")
    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    async with working(app, slots=3) as bench:
        server = await bench.connected()
        await server.run(*(run_of("count", job=n) for n in range(30)))
        await server.outcomes(30)
    assert most == 3


async def test_credit_grows_with_throughput():
    async with working(app, slots=2) as bench:
        server = await bench.connected()
        for round_ in range(100):
            await server.run(*(run_of("add", '{"a": 1}', job=n, attempt=round_) for n in range(100)))
            await server.outcomes(100)
            if not server.beats.empty():
                break
            bench.clock.advance(0.02)
        beat = await server.beats.get()
    assert beat.credit > 2


async def test_context_variables_do_not_leak_from_one_attempt_to_the_next():
    async with working(app, slots=1) as bench:
        server = await bench.connected()
        for job, wait in enumerate(["false", "true", "false", "true"]):
            await server.run(run_of("paint", f'{{"to": "red", "wait": {wait}}}', job=job))
        outcomes = await server.outcomes(4)
    assert [outcome.result for outcome in outcomes] == [b'"none"'] * 4


async def test_asyncio_timeouts_and_groups_work_inside_a_task():
    nested = App()

    @nested.task(name="nested")
    async def run_nested() -> list[str]:
        seen = []
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("timeout")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_fail())
                await asyncio.Event().wait()
        except* ValueError:
            seen.append("group")
        task = asyncio.current_task()
        seen.append(str(task.cancelling() if task else None))
        return seen

    async def _fail() -> None:
        raise ValueError

    async with working(nested, slots=1) as bench:
        server = await bench.connected()
        await server.run(run_of("nested"))
        assert (await server.outcome()).result == b'["timeout","group","0"]'


async def test_a_task_that_cancels_itself_does_not_affect_the_next():
    selfish = App()

    @selfish.task(name="cancel_me")
    async def cancel_me(wait: bool) -> None:
        task = asyncio.current_task()
        assert task
        task.cancel()
        if wait:
            await asyncio.sleep(0)

    @selfish.task(name="fine")
    async def fine() -> str:
        await asyncio.sleep(0)
        return "fine"

    async with working(selfish, slots=1) as bench:
        server = await bench.connected()
        await server.run(
            run_of("cancel_me", '{"wait": true}', job=1),
            run_of("fine", job=2),
            run_of("cancel_me", '{"wait": false}', job=3),
            run_of("fine", job=4),
        )
        outcomes = await server.outcomes(4)
    assert [outcome.kind for outcome in outcomes] == ["failed", "completed", "completed", "completed"]


async def test_a_cancellation_that_comes_after_the_end_does_not_stop_the_worker():
    careless = App()
    slots: list[asyncio.Task[Any] | None] = []

    @careless.task(name="careless")
    async def remember() -> None:
        slots.append(asyncio.current_task())

    async with working(careless, slots=1) as bench:
        server = await bench.connected()
        for job in range(3):
            await server.run(run_of("careless", job=job))
            assert (await server.outcome()).kind == "completed"
            slot = slots[-1]
            assert slot
            slot.cancel()


async def test_the_context_identifies_the_attempt():
    async with working(app) as bench:
        server = await bench.connected()
        run = run_of("about_me", job=5, attempt=3)
        await server.run(run)
        await server.expect(Recall)
        await server.send(Recalled(claim_of(run), StoredCheckpoint(None, {})))
        outcome = await server.outcome()
    scheduled = from_micros(START)
    about = [3, execution_id(5, scheduled), job_id(5), scheduled.isoformat().replace("+00:00", "Z"), False]
    assert outcome.result is not None
    assert outcome.result.decode().replace('"', "'").replace("false", "False") == str(about).replace(
        ", ", ","
    )


@pytest.mark.parametrize(
    ("how", "kind", "failure", "retry"),
    [
        ("no retry", "failed", "tickwork.NoRetry", False),
        ("value", "failed", "ValueError", True),
        ("exit", "failed", "SystemExit", True),
        ("attempt failed", "failed", "HttpStatus", True),
    ],
)
async def test_the_exception_of_a_task_decides_how_it_failed(how, kind, failure, retry):
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("steer", f'{{"how": "{how}"}}'))
        outcome = await server.outcome()
    assert outcome.failure
    assert (outcome.kind, outcome.failure.type, outcome.failure.retry) == (kind, failure, retry)


async def test_the_traceback_starts_in_the_task():
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("steer", '{"how": "what"}'))
        outcome = await server.outcome()
    assert outcome.failure
    assert outcome.failure.message == "what"
    assert outcome.failure.traceback
    assert "in steer" in outcome.failure.traceback
    assert "slot.py" not in outcome.failure.traceback


async def test_snooze_and_cancel_are_outcomes_of_their_own():
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("steer", '{"how": "snooze"}'))
        snoozed = await server.outcome()
        await server.run(run_of("steer", '{"how": "cancel"}', job=2))
        cancelled = await server.outcome()
    assert (snoozed.kind, snoozed.snooze) == ("snoozed", 30.0)
    assert (cancelled.kind, cancelled.reason) == ("cancelled", "not needed any more")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ('{"a": "one"}', "$.a"),
        ("{}", "required field `a`"),
        ('{"a": 1, "c": 2}', "unknown field `c`"),
        ("[1]", "Expected `object`"),
        ("null", "required field `a`"),
    ],
)
@pytest.mark.parametrize("task", ["add", "add_in_thread"])
async def test_a_payload_that_does_not_fit_fails_without_retry_and_names_the_error(task, payload, message):
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of(task, payload))
        outcome = await server.outcome()
    assert outcome.failure
    assert (outcome.kind, outcome.failure.type, outcome.failure.retry) == ("failed", "BadPayload", False)
    assert message in outcome.failure.message


async def test_a_result_over_the_limit_is_a_failure():
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("large", '{"size": 262142}'), run_of("large", '{"size": 262143}', job=2))
        fits, too_large = await server.outcomes(2)
    assert fits.kind == "completed"
    assert too_large.result is None
    assert too_large.failure
    assert too_large.failure.type == "ResultTooLarge"
    assert "262145 bytes" in too_large.failure.message


async def test_a_result_that_json_cannot_carry_is_a_failure():
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("unwritable"))
        outcome = await server.outcome()
    assert outcome.failure
    assert outcome.failure.type == "BadResult"


async def test_a_task_it_does_not_offer_fails():
    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("os.system", '{"command": "true"}'))
        outcome = await server.outcome()
    assert outcome.failure
    assert outcome.failure.type == "UnknownTask"


async def test_a_direct_task_reads_the_run_itself():
    async def call(run: Run) -> bytes:
        return b'{"attempt":%d,"payload":%b}' % (run.attempt, run.payload)

    async with working([direct_task("http", call)]) as bench:
        server = await bench.connected()
        await server.run(run_of("http", "[1]", attempt=2))
        assert (await server.outcome()).result == b'{"attempt":2,"payload":[1]}'


async def test_beats_report_each_long_running_attempt_once(monkeypatch):
    monkeypatch.setattr(worker_module, "_BEAT", 0.01)
    slow = App()
    finish = asyncio.Event()

    @slow.task(name="slow")
    async def wait() -> None:
        await finish.wait()

    async with working(slow) as bench:
        server = await bench.connected()
        run = run_of("slow")
        await server.run(run)
        bench.clock.advance(0.5)
        assert (await server.beats.get()).running == []
        while not (reported := (await server.beats.get()).running):
            bench.clock.advance(0.5)
        assert [claim for claim, _ in reported] == [claim_of(run)]
        assert (await server.beats.get()).running == []
        finish.set()
        outcome = await server.outcome()
    assert reported[0][1] == outcome.started


async def test_a_key_that_is_refused_ends_the_worker():
    def refuse(connection, request) -> Response:
        return connection.respond(403, "no\n")

    async with serve(lambda _: asyncio.sleep(0), "127.0.0.1", 0, process_request=refuse) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        worker = Worker(WebSocketLink([f"http://127.0.0.1:{port}"], "wrong"), [])
        with pytest.raises(NotAllowed, match="403"):
            await worker.run()


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "ftp://host", "http://", "http://host:port", ""])
def test_an_invalid_address_is_refused_at_once(address):
    with pytest.raises(Invalid, match="is not the address of a server"):
        WebSocketLink([address], KEY)


async def test_reports_start_times_between_beats(monkeypatch):
    monkeypatch.setattr(worker_module, "_BEAT", 1_000)
    monkeypatch.setattr(worker_module, "_LONG_RUNNING_INTERVAL", 0.01)
    app, began = App(), asyncio.Event()

    @app.task(name="waits")
    async def waits() -> None:
        began.set()
        await asyncio.Event().wait()

    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("waits"))
        await began.wait()
        bench.clock.advance(2)
        ((claim, started),) = (await server.beats.get()).running
        assert claim == claim_of(run_of("waits"))
        assert started >= START
