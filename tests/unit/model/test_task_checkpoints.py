"""What `ctx.step`, `ctx.checkpoint` and `ctx.state` do, in a task that blocks and in one that awaits."""

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import pytest

from tickwork import AttemptLost, CheckpointError, Context, NoRetry
from tickwork.model.checkpoint import ALL_STEPS_LIMIT, MOST_STEPS, STEP_LIMIT, StoredCheckpoint
from tickwork.model.task_checkpoints import NewCheckpoint, TaskCheckpoints


class Storage:
    """Answers at once, unless it is told to wait."""

    def __init__(self, stored: StoredCheckpoint | None = None) -> None:
        self.stored = stored or StoredCheckpoint()
        self.kept: list[NewCheckpoint] = []
        self.answers: list[Future[None]] = []
        self.waits = False
        self.asked = Event()

    def recalled(self) -> StoredCheckpoint:
        return self.stored

    def keep(self, checkpoint: NewCheckpoint) -> "Future[None]":
        self.kept.append(checkpoint)
        answer: Future[None] = Future()
        self.answers.append(answer)
        if not self.waits:
            answer.set_result(None)
        self.asked.set()
        return answer


@pytest.fixture
def storage() -> Storage:
    return Storage()


def context(storage: Storage) -> Context:
    return Context(checkpoints=lambda: TaskCheckpoints(storage))


@pytest.fixture
def ctx(storage: Storage) -> Context:
    return context(storage)


def never() -> Any:
    raise AssertionError("a step that is done runs again")


async def async_never() -> Any:
    never()


def names(storage: Storage) -> list[str | None]:
    return [each.step for each in storage.kept]


def test_a_step_runs_and_its_result_is_stored(ctx: Context, storage: Storage) -> None:
    assert ctx.step("add", lambda left, right: left + right, 1, right=2) == 3
    (kept,) = storage.kept
    assert (kept.number, kept.step, kept.value) == (1, "add", b"3")
    assert kept.took >= 0


async def test_in_an_async_task_a_step_is_awaited(ctx: Context, storage: Storage) -> None:
    async def add(left: int, right: int) -> int:
        await asyncio.sleep(0)
        return left + right

    assert await ctx.step("add", add, 1, right=2) == 3
    assert await ctx.step("in a thread", asyncio.to_thread, max, 4, 5) == 5
    assert names(storage) == ["add", "in a thread"]


def test_a_step_that_is_done_is_not_run_again(storage: Storage) -> None:
    ctx = context(Storage(StoredCheckpoint(steps={"add": b"3", "nothing": b"null"})))
    assert ctx.step("add", never) == 3
    assert ctx.step("nothing", never) is None


async def test_nor_in_an_async_task() -> None:
    ctx = context(Storage(StoredCheckpoint(steps={"add": b"3"})))
    assert await ctx.step("add", async_never) == 3


def test_the_state_is_that_of_the_last_checkpoint(storage: Storage) -> None:
    ctx = context(Storage(StoredCheckpoint(state=b'{"page":4}')))
    state = ctx.state
    state["page"] = 5
    assert ctx.state == {"page": 4}
    ctx.checkpoint(state)
    assert ctx.state == {"page": 5}


def test_without_a_checkpoint_there_is_no_state(ctx: Context) -> None:
    assert ctx.state is None


async def test_checkpoints_are_numbered_in_their_order(ctx: Context, storage: Storage) -> None:
    await ctx.checkpoint(1)
    await ctx.step("one", asyncio.to_thread, int)
    await ctx.checkpoint(2)
    assert [each.number for each in storage.kept] == [1, 2, 3]


async def test_a_checkpoint_that_nobody_awaits_is_stored_all_the_same(ctx: Context, storage: Storage) -> None:
    waiting = ctx.checkpoint({"page": 1})
    assert [each.value for each in storage.kept] == [b'{"page":1}']
    await waiting


async def test_steps_may_run_side_by_side(ctx: Context, storage: Storage) -> None:
    begun = [asyncio.Event(), asyncio.Event()]

    async def meet(own: int) -> int:
        begun[own].set()
        await begun[1 - own].wait()
        return own

    assert await asyncio.gather(ctx.step("a", meet, 0), ctx.step("b", meet, 1)) == [0, 1]
    assert sorted(map(str, names(storage))) == ["a", "b"]


def test_a_name_is_used_once_in_an_attempt(ctx: Context) -> None:
    ctx.step("charge", int)
    with pytest.raises(CheckpointError, match="step 'charge' was already used in this attempt"):
        ctx.step("charge", int)


async def test_also_while_the_first_of_that_name_still_runs(ctx: Context) -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    steps = (ctx.step("charge", wait), ctx.step("charge", wait))
    ended: list[object] = [*await asyncio.gather(*steps, return_exceptions=True)]
    assert ended[0] is None
    assert isinstance(ended[1], CheckpointError)


def test_a_step_that_raises_is_not_stored_and_may_be_tried_again(ctx: Context, storage: Storage) -> None:
    tries = iter([ValueError("not yet"), None])

    def stumble() -> int:
        if error := next(tries):
            raise error
        return 7

    with pytest.raises(ValueError, match="not yet"):
        ctx.step("stumble", stumble)
    assert storage.kept == []
    assert ctx.step("stumble", stumble) == 7


@pytest.mark.parametrize("name", ["", "x" * 201, "two\nlines", "\0", "\ud800", 5])
def test_a_name_that_cannot_be_stored_is_refused_before_the_step_runs(ctx: Context, name: Any) -> None:
    with pytest.raises(CheckpointError, match="the name of a step is text"):
        ctx.step(name, never)


@pytest.mark.parametrize("result", [object(), {1j: 2}, "\0", "x" * STEP_LIMIT])
def test_the_error_of_a_result_that_cannot_be_stored_names_the_step(ctx: Context, result: Any) -> None:
    with pytest.raises(CheckpointError, match="the result of step 'charge'") as caught:
        ctx.step("charge", lambda: result)
    assert isinstance(caught.value, NoRetry)


@pytest.mark.parametrize("state", [object(), "\0", "x" * STEP_LIMIT])
def test_a_state_that_cannot_be_stored_is_told(ctx: Context, storage: Storage, state: Any) -> None:
    with pytest.raises(CheckpointError, match="the state "):
        ctx.checkpoint(state)
    assert storage.kept == []
    assert ctx.state is None


def test_there_is_a_limit_to_the_number_of_steps() -> None:
    ctx = context(Storage(StoredCheckpoint(steps={f"{number}": b"1" for number in range(MOST_STEPS - 1)})))
    ctx.step("the last", int)
    with pytest.raises(CheckpointError, match="at most 1,000 steps"):
        ctx.step("one more", int)


def test_and_to_their_size() -> None:
    large = b'"' + b"x" * (STEP_LIMIT - 2) + b'"'
    count = ALL_STEPS_LIMIT // STEP_LIMIT
    ctx = context(Storage(StoredCheckpoint(steps={f"{number}": large for number in range(count)})))
    with pytest.raises(CheckpointError, match="the results of all steps have 4,194,305 bytes"):
        ctx.step("one more", int)


@dataclass
class Receipt:
    number: int
    lines: tuple[str, ...]


def test_the_first_attempt_gets_the_result_in_the_form_that_a_later_one_gets() -> None:
    def charge() -> Receipt:
        return Receipt(7, ("a", "b"))

    storage = Storage()
    first = context(storage).step("charge", charge)
    later = context(Storage(StoredCheckpoint(steps={"charge": storage.kept[0].value})))
    assert first == later.step("charge", charge) == Receipt(7, ("a", "b"))
    assert context(Storage()).step("charge", lambda: Receipt(7, ("a", "b"))) == {
        "number": 7,
        "lines": ["a", "b"],
    }


def test_a_stored_result_that_no_longer_fits_the_function_is_told() -> None:
    def charge() -> int:
        return 7

    ctx = context(Storage(StoredCheckpoint(steps={"charge": b'"seven"'})))
    with pytest.raises(CheckpointError, match="stored result of step 'charge' does not fit"):
        ctx.step("charge", charge)


def test_a_task_that_is_told_to_stop_while_it_waits_is_ended(ctx: Context, storage: Storage) -> None:
    storage.waits = True
    raised: list[BaseException] = []

    def task() -> None:
        try:
            ctx.step("charge", int)
        except BaseException as error:  # noqa: BLE001 (what it is, is the question)
            raised.append(error)

    thread = Thread(target=task)
    thread.start()
    storage.asked.wait()
    ctx.cancel()
    thread.join()
    assert [type(error) for error in raised] == [AttemptLost]
    with pytest.raises(AttemptLost):
        ctx.step("next", never)
    with pytest.raises(AttemptLost):
        ctx.checkpoint(1)


def test_one_that_was_told_to_stop_before_its_first_step_runs_none(ctx: Context, storage: Storage) -> None:
    ctx.cancel()
    with pytest.raises(AttemptLost):
        ctx.step("charge", never)
    assert storage.kept == []


async def test_what_the_storage_says_reaches_the_task(ctx: Context, storage: Storage) -> None:
    storage.waits = True
    waiting = asyncio.ensure_future(ctx.step("charge", asyncio.to_thread, int))
    await asyncio.to_thread(storage.asked.wait)
    storage.answers[0].set_exception(AttemptLost("another attempt runs"))
    with pytest.raises(AttemptLost, match="another attempt runs"):
        await waiting


def test_except_exception_does_not_keep_a_lost_attempt_going() -> None:
    assert not issubclass(AttemptLost, Exception)


def test_a_context_without_a_worker_stores_nothing_and_works() -> None:
    ctx = Context()
    assert ctx.step("add", lambda: 3) == 3
    ctx.checkpoint({"page": 1})
    assert ctx.state == {"page": 1}
