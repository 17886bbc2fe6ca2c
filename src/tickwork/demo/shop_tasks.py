"""The tasks of the shop. They do nothing but take some time, say what they do, and sometimes fail."""

import asyncio
import random
from typing import Any

from tickwork import App, Context, NoRetry

app = App()
_chance = random.Random()  # noqa: S311 (nothing secret)
_EPOCHS = 30  # of the model that is trained: four minutes


class GatewayTimeout(Exception):
    """The payment provider did not answer."""


class StockMismatch(Exception):
    """The warehouse counts differently."""


class ModelNotLoaded(Exception):
    """The scoring model is being replaced."""


async def _work(ctx: Context, what: str, steps: int, seconds: float) -> int:
    """Some steps, with progress and a line for each."""
    done = 0
    for step in range(1, steps + 1):
        await asyncio.sleep(seconds / steps * _chance.uniform(0.6, 1.4))
        done += _chance.randint(3, 40)
        ctx.progress(step / steps, f"{what}: {step} of {steps}")
        ctx.log.info("rows so far", what=what, step=step, of=steps, rows=done)
    return done


def _fails(share: float) -> bool:
    return _chance.random() < share


@app.task(name="orders.import", queue="orders", timeout="2m")
async def import_orders(marketplace: str, *, ctx: Context) -> dict[str, Any]:
    """Import new orders from a marketplace."""
    return {"marketplace": marketplace, "orders": await _work(ctx, "orders", 3, 1.5)}


@app.task(name="inventory.sync", queue="inventory", timeout="3m")
async def sync_inventory(warehouse: str, *, ctx: Context) -> dict[str, Any]:
    """Compare our stock with what the warehouse has."""
    rows = await _work(ctx, "articles", 4, 2)
    if warehouse == "Osaka" and _fails(0.15):
        raise StockMismatch(f"{warehouse} reports 3 of article 40-118, we have 5")
    return {"warehouse": warehouse, "articles": rows}


@app.task(name="inventory.refresh_cache", queue="inventory", timeout="30s")
async def refresh_cache(*, ctx: Context) -> int:
    """Put current stock numbers where the shop reads them."""
    return await _work(ctx, "cache", 1, 0.3)


@app.task(name="checkout.watch", queue="default", timeout="30s")
async def watch_checkout(*, ctx: Context) -> dict[str, float]:
    """Buy a test article, and measure how long it takes."""
    seconds = _chance.lognormvariate(-1, 0.4)
    await asyncio.sleep(seconds)
    ctx.log.info("checkout done", seconds=round(seconds, 2))
    return {"seconds": round(seconds, 3)}


@app.task(name="payments.capture", queue="payments", priority="critical", timeout="1m", retries=2)
async def capture_payments(provider: str, *, ctx: Context) -> dict[str, Any]:
    """Capture the payments of orders that were shipped."""
    if _fails(0.04):
        raise GatewayTimeout(f"{provider} did not answer within 20 s")
    return {"provider": provider, "captured": await _work(ctx, "payments", 2, 1)}


@app.task(name="payments.refund", queue="payments", priority="high", timeout="1m", retries=2)
async def refund(*, ctx: Context) -> int:
    """Pay back what customers returned."""
    return await _work(ctx, "refunds", 2, 0.8)


@app.task(name="mail.shipping_updates", queue="mail", timeout="5m")
async def mail_shipping_updates(*, ctx: Context) -> int:
    """Tell customers where their parcels are."""
    return await _work(ctx, "mails", 4, 2)


@app.task(name="mail.abandoned_carts", queue="mail", priority="low", timeout="5m")
async def mail_abandoned_carts(*, ctx: Context) -> int:
    """Remind customers of what they left in their carts."""
    return await _work(ctx, "mails", 3, 2)


@app.task(name="mail.newsletter", queue="mail", priority="low", timeout="30m")
async def mail_newsletter(edition: str, *, ctx: Context) -> int:
    """Send the newsletter."""
    ctx.log.info("sending", edition=edition)
    return await _work(ctx, "mails", 10, 12)


@app.task(name="pricing.update", queue="default", timeout="2m")
async def update_prices(strategy: str = "margin", *, ctx: Context) -> int:
    """Compute prices from costs, stock and competitors."""
    return await _work(ctx, f"prices ({strategy})", 3, 1.5)


@app.task(name="fraud.scan", queue="risk", timeout="2m", retries=3)
async def scan_for_fraud(*, ctx: Context) -> dict[str, int]:
    """Score the latest orders."""
    if ctx.attempt == 1 and _fails(0.2):
        raise ModelNotLoaded("model fraud-2026-11 is being replaced")
    return {"scored": await _work(ctx, "orders", 2, 1), "suspicious": _chance.randint(0, 2)}


@app.task(name="ml.train_recommendations", queue="ml", timeout="2h")
async def train_recommendations(model: str, *, ctx: Context) -> dict[str, Any]:
    """Train the model of what customers may like. It takes long, so it keeps checkpoints."""
    orders = await ctx.step("read the orders", _read_orders)
    ctx.log.info("training", model=model, orders=orders)
    first = (ctx.state or {"epoch": 0})["epoch"] + 1
    accuracy = 0.0
    for epoch in range(first, _EPOCHS + 1):
        await asyncio.sleep(_chance.uniform(5, 11))
        accuracy = round(0.85 - 0.4 / (epoch + 1), 3)
        ctx.progress(epoch / _EPOCHS, f"epoch {epoch} of {_EPOCHS}")
        ctx.log.info("epoch done", epoch=epoch, of=_EPOCHS, accuracy=accuracy)
        await ctx.checkpoint({"epoch": epoch, "accuracy": accuracy})
    return {"model": model, "accuracy": accuracy}


async def _read_orders() -> int:
    await asyncio.sleep(2)
    return _chance.randint(40_000, 50_000)


@app.task(name="search.reindex", queue="ml", timeout="30m")
async def reindex(*, ctx: Context) -> int:
    """Build the search index anew."""
    return await _work(ctx, "articles", 12, 30)


@app.task(name="reports.daily_sales", queue="reports", timeout="10m", retries=1)
async def daily_sales(region: str, *, ctx: Context) -> dict[str, Any]:
    """Add up the sales of yesterday."""
    await _work(ctx, "sales", 3, 2)
    raise NoRetry(f"{region}: column 'net_total' is missing in the export")


@app.task(name="reports.finance", queue="reports", timeout="30m")
async def finance_report(period: str, *, ctx: Context) -> dict[str, Any]:
    """Put the figures together for the finance team."""
    return {"period": period, "rows": await _work(ctx, "accounts", 6, 5)}


@app.task(name="etl.extract", queue="etl", timeout="30m")
async def extract(source: str, *, ctx: Context) -> int:
    """Copy yesterday's rows out of a source."""
    return await _work(ctx, f"rows of {source}", 5, 4)


@app.task(name="etl.transform", queue="etl", timeout="30m")
async def transform(table: str, *, ctx: Context) -> int:
    """Bring rows into the form of the warehouse."""
    return await _work(ctx, f"rows of {table}", 4, 3)


@app.task(name="etl.load", queue="etl", timeout="30m")
async def load(target: str, *, ctx: Context) -> int:
    """Load the rows into the data warehouse."""
    return await _work(ctx, f"rows into {target}", 4, 3)


@app.task(name="media.thumbnails", queue="media", timeout="10m")
async def make_thumbnails(*, ctx: Context) -> int:
    """Make small pictures of new articles."""
    return await _work(ctx, "pictures", 6, 4)


@app.task(name="upkeep.clean", queue="default", priority="low", timeout="10m")
async def clean(what: str, *, ctx: Context) -> int:
    """Delete what nobody needs any more."""
    return await _work(ctx, what, 2, 1)


@app.task(name="loyalty.award_points", queue="default", timeout="10m")
async def award_points(*, ctx: Context) -> int:
    """Give customers their points."""
    return await _work(ctx, "customers", 3, 2)
