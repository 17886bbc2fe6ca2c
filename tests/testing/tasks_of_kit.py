"""The App of an imaginary user."""

import asyncio

from tickwork import App, Context, NoRetry

app = App()


@app.task(name="greet")
async def greet(name: str, *, ctx: Context) -> str:
    ctx.log.info("greeting", name=name)
    ctx.progress(0.5, "half of it")
    return f"hello {name}, attempt {ctx.attempt}"


@app.task(name="add")
def add(first: int, second: int = 1) -> int:
    return first + second


@app.task(name="flaky", retries=2)
async def flaky(until: int, *, ctx: Context) -> str:
    if ctx.attempt < until:
        raise ValueError(f"not before attempt {until}")
    return "done"


@app.task(name="hopeless")
def hopeless() -> None:
    raise NoRetry("never")


@app.task(name="endless")
async def endless() -> None:
    await asyncio.Event().wait()


@app.task(name="set")
def returns_a_set() -> object:
    return {object()}


@app.task(name="sum", process=False)
def total(*, ctx: Context) -> int:
    return sum(parent.result for parent in ctx.parents)


@app.task(name="order")
def order(*, ctx: Context) -> list[object]:
    page = (ctx.state or {"page": 0})["page"] + 1
    ctx.checkpoint({"page": page})
    return [page, ctx.step("pay", max, 1, 2)]


@app.task(name="async order")
async def async_order(*, ctx: Context) -> list[object]:
    page = (ctx.state or {"page": 0})["page"] + 1
    await ctx.checkpoint({"page": page})
    return [page, await ctx.step("pay", asyncio.to_thread, max, 1, 2)]


@app.task(name="again")
def submits_another(left: int) -> None:
    if left:
        submits_another.submit(left - 1)


@app.task(name="nightly", schedule="0 3 * * *")
def nightly() -> None: ...
