"""What type checkers must say of programs that use Tickwork: read by mypy and pyright, never run.

A line with `# error` must be refused by both; one with `# error: mypy` or `# error: pyright` by that one. Every other
line must pass. `assert_type` says what a value is.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, assert_type

from tickwork import (
    App,
    AsyncClient,
    Client,
    Context,
    ExecutionFailed,
    ExecutionStatus,
    FairShare,
    Handle,
    Invalid,
    JobStatus,
    Limit,
    NotFound,
    Requires,
    Step,
    Steps,
    TickworkError,
    gather,
)

app = App()


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Order:
    id: int


# Every form in which a task may take its context is accepted.


@app.task(retries=3, timeout="5m")
async def send_report(to: str, day: str = "today", *, ctx: Context) -> dict[str, str]:
    return {"to": to, "day": day, "attempt": str(ctx.attempt)}


@app.task
def import_orders(path: str, ctx: Context) -> int:
    return len(path) + ctx.attempt


@app.task
async def only_context(*, ctx: Context) -> int:
    return ctx.attempt


@app.task
async def many(a: int, b: int, c: int, d: int, e: int = 5, *, ctx: Context) -> int:
    return a + b + c + d + e + ctx.attempt


@app.task(queue="mail")
async def first(ctx: Context, to: str, size: Size = Size.SMALL) -> Order:
    return Order(len(to) + len(size) + ctx.attempt)


@app.task
def first_in_thread(ctx: Context, to: str) -> int:
    return len(to) + ctx.attempt


# And those without.


@app.task
async def fetch(url: str, tries: int = 1) -> bytes:
    return url.encode() * tries


@app.task(process=True)
def add(a: int, b: int = 1) -> int:
    return a + b


@app.task(schedule="every weekday at 9am", timezone="Europe/Paris")
def digest() -> None: ...


@app.task
def anything(value: Any) -> int:
    return len(str(value))


@app.task(requires=Requires(memory="2Gi"), limits=[Limit("api", rate="100/1m")], fair_share=FairShare("acme"))
def keyword_only(*, order: Order) -> Order:
    return order


# Results are of the type that the function says, also of coroutines.

assert_type(send_report.submit(to="a@b.c"), Handle[dict[str, str]])
assert_type(send_report.submit(to="a@b.c").result(timeout=30), dict[str, str])
assert_type(import_orders.submit(path="x").result(), int)
assert_type(only_context.submit().result(), int)
assert_type(many.submit(1, 2, 3, d=4).result(), int)
assert_type(first.submit(to="a@b.c").result(), Order)
assert_type(first.submit("a@b.c", Size.LARGE).result(), Order)
assert_type(first_in_thread.submit(to="x").result(), int)
assert_type(fetch.submit("https://a").result(), bytes)
assert_type(add.submit(1, b=2).result(), int)
assert_type(keyword_only.submit(order=Order(1)).result(), Order)
assert_type(add.submit(1).status(), ExecutionStatus)
anything.submit(value=1).result()
digest.submit().cancel()
first.at(datetime.now(UTC)).submit(to="a@b.c")
first.on("0 9 * * MON", timezone="Europe/Paris", key="weekly").submit(to="a@b.c")
first.options(priority="high", if_exists="keep", tags=["billing"]).submit(to="a@b.c")


async def submits() -> None:
    handle = await first.submit_async(to="a@b.c")
    assert_type(handle, Handle[Order])
    assert_type(await handle.result_async(timeout=30), Order)
    assert_type(await fetch("https://a"), bytes)
    await send_report("a@b.c", ctx=Context(attempt=2))
    await first.submit_async(2)  # error


# A step has the type that its function returns.


async def price_of(shop: str) -> float:
    return float(len(shop))


def runs_steps(ctx: Context) -> None:
    assert_type(ctx.step("count", len, "abc"), int)
    ctx.checkpoint({"page": 1})
    ctx.step("count", len, 5)  # error


async def awaits_steps(ctx: Context) -> None:
    assert_type(await ctx.step("price", price_of, "north"), float)
    await ctx.checkpoint({"page": 1})
    await ctx.step("price", price_of, 5)  # error
    await ctx.step("count", len, "abc")  # error


# Arguments that do not fit are refused, wherever the context does not hide them.

add.submit("1")  # error
add.submit()  # error
add.submit(1, c=2)  # error
fetch.submit("https://a", tries="2")  # error
digest.submit(1)  # error
first.submit()  # error
first.submit(to=1)  # error
first.submit(whom="a@b.c")  # error
first.submit(to="a@b.c", size="small")  # error
first.submit(to="a@b.c", ctx=Context())  # error
first_in_thread.submit(1)  # error
keyword_only.submit(Order(1))  # error
keyword_only.submit(order=1)  # error
first.step(to=1)  # error
add.options(priority="urgent")  # error
add.options(if_exists="ignore")  # error
add.options(retry=3)  # error
add.at("tomorrow")  # error
app.task(timeout=add)  # error
app.task(retries="3")  # error

# A workflow knows what its steps give, and what they take.

assert_type(fetch.step("https://a"), Step[bytes])
assert_type(add.map([1, 2]), Steps[int])
assert_type(fetch.map(["https://a"]), Steps[bytes])
assert_type(first.map(["a@b.c"]), Steps[Order])
assert_type(gather(add.step(1), add.step(2)).then(digest.step()), Step[None])
assert_type(add.map([1]).submit()[0].result(), int)
send_report.map(["a@b.c"])
add.map(["1"])  # error
fetch.map([1])  # error
first.map([1])  # error
digest.map([1])  # error
add.step(1).then(fetch.step("https://a"), on="never")  # error

# Clients know their filters and the fields of a job.

client = Client("http://127.0.0.1:8080", "tw_key")
client.create_job(task="tasks.add", payload={"a": 1}, schedule="every 5m", retry={"max_attempts": 2})
client.create_jobs([{"task": "tasks.add", "payload": {"a": 1}}])
client.list_jobs(status="active", priority="high", key="weekly", sort="created_at")
client.list_jobs(status=JobStatus.PAUSED)
client.list_executions(status="failed", job="key:weekly")
client.list_executions(status=ExecutionStatus.FAILED)
client.run_job("key:weekly", overlap="queue")
client.create_key("ci", scopes=["read", "write"])
for job in client.iter_jobs(task="tasks.add", status="active"):
    assert_type(job.status, JobStatus)

client.list_jobs(status="actve")  # error
client.list_jobs(priority="urgent")  # error
client.list_jobs(state="active")  # error
client.list_executions(status="active")  # error
client.iter_jobs(status="actve")  # error
client.iter_jobs(state="active")  # error
client.run_job("j1", overlap="never")  # error
client.create_job(task="tasks.add", priority="urgent")  # error
client.create_job(task="tasks.add", retries=3)  # error
client.create_key("ci", scopes=["all"])  # error
client.discard_dead_letters(filter={"tsk": "tasks.add"})  # error


async def asks(server: AsyncClient) -> None:
    found = await server.list_jobs(status="active")
    assert_type(found.items[0].status, JobStatus)
    async for each in server.iter_jobs(queue="mail"):
        assert_type(each.id, str)
    await server.list_jobs(status="actve")  # error
    server.iter_jobs(state="active")  # error


try:
    add.submit(1).result()
except ExecutionFailed as failed:
    assert_type(failed.execution.status, ExecutionStatus)
except Invalid as invalid:
    assert_type(invalid.errors[0].hint, str | None)
except (NotFound, TickworkError):
    pass
