"""Tasks with steps for child processes, which import this module by its path."""

from pathlib import Path

from tickwork import App, Context

app = App()


def _say(word: str) -> str:
    return word


async def _say_later(word: str) -> str:
    return word


@app.task(name="child", process=True)
def child(*, ctx: Context) -> list[object]:
    results = [ctx.state, ctx.step("pay", _say, "paid"), ctx.step("ship", _say, "shipped")]
    ctx.checkpoint({"parcels": 1})
    return results


@app.task(name="async_child", process=True)
async def async_child(*, ctx: Context) -> list[object]:
    results = [
        ctx.state,
        await ctx.step("pay", _say_later, "paid"),
        await ctx.step("ship", _say_later, "shipped"),
    ]
    await ctx.checkpoint({"parcels": 1})
    return results


@app.task(name="telling_child", process=True)
def telling_child(ended: str, *, ctx: Context) -> None:
    try:
        ctx.step("pay", _say, "paid")
    except BaseException as error:
        Path(ended).write_text(type(error).__name__)
        raise
