"""The jobs of the shop: about thirty, with owners, tags and schedules in several time zones."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from tickwork.demo.shop_tasks import app
from tickwork.model.job import JobRequest

TAG = "demo"
_RETRY = {"initial": "30s"}
_NIGHTLY = {"schedule": "0 2 * * *", "timezone": "Europe/Berlin"}
WORKFLOW = ("etl-extract", "etl-orders", "etl-customers", "etl-load", "etl-report")


def _job(key: str, name: str, owner: str, tags: list[str], **fields: Any) -> JobRequest:
    task = app.tasks.get(fields.get("task", ""))
    defaults = {"retry": _RETRY, **(task.definition.defaults if task else {})}
    document = {**defaults, **fields, "key": key, "name": name, "owner": owner, "tags": [*tags, TAG]}
    return msgspec.convert(document, JobRequest)


def weekly_jobs(url: str) -> Iterator[JobRequest]:
    """Those that have run for a week. `url`: of the server itself, which plays the shop's partners."""
    yield from _orders_and_stock()
    yield from _payments()
    yield from _mails()
    yield from _partners(url)
    yield from _reports_and_upkeep()
    yield from _machine_learning()


def _orders_and_stock() -> Iterator[JobRequest]:
    for key, name in (("bazaar", "Bazaar One"), ("marktplatz", "Marktplatz"), ("comptoir", "Le Comptoir")):
        yield _job(
            f"orders-{key}",
            f"Import orders: {name}",
            "team-orders",
            ["orders", "marketplace"],
            task="orders.import",
            payload={"marketplace": name},
            schedule="every 30m",
            description=f"New orders of {name} must be in the shop before the next packing round.",
        )
    places = (("Berlin", "Europe/Berlin"), ("Lyon", "Europe/Paris"), ("Austin", "America/Chicago"))
    for place, zone in (*places, ("Osaka", "Asia/Tokyo")):
        yield _job(
            f"stock-{place.lower()}",
            f"Sync inventory: {place}",
            "team-warehouse",
            ["inventory", place.lower()],
            task="inventory.sync",
            payload={"warehouse": place},
            schedule="*/30 * * * *",
            timezone=zone,
        )
    yield _job(
        "prices",
        "Update prices",
        "team-pricing",
        ["pricing"],
        task="pricing.update",
        payload={"strategy": "margin"},
        schedule="0 * * * *",
        timezone="Europe/Berlin",
    )


def _payments() -> Iterator[JobRequest]:
    for provider in ("Paylane", "Kreditwerk"):
        yield _job(
            f"capture-{provider.lower()}",
            f"Capture payments: {provider}",
            "team-payments",
            ["payments", "money"],
            task="payments.capture",
            payload={"provider": provider},
            schedule="every 30m",
            retry={"max_attempts": 3, "initial": "20s"},
        )
    yield _job(
        "refunds",
        "Refund returns",
        "team-payments",
        ["payments", "money"],
        task="payments.refund",
        schedule="@hourly",
    )
    yield _job(
        "fraud-scan",
        "Scan orders for fraud",
        "team-risk",
        ["risk", "orders"],
        task="fraud.scan",
        schedule="every 30m",
        retry={"max_attempts": 4, "initial": "10s"},
    )


def _mails() -> Iterator[JobRequest]:
    yield _job(
        "shipping-mails",
        "Mail shipping updates",
        "team-crm",
        ["mail"],
        task="mail.shipping_updates",
        schedule="every 30m",
    )
    yield _job(
        "cart-mails",
        "Mail abandoned carts",
        "team-crm",
        ["mail", "marketing"],
        task="mail.abandoned_carts",
        schedule="30 8-20 * * *",
        timezone="Europe/Paris",
    )
    yield _job(
        "newsletter",
        "Newsletter",
        "team-crm",
        ["mail", "marketing"],
        task="mail.newsletter",
        payload={"edition": "weekly"},
        schedule="every Tuesday and Friday at 9am",
        timezone="Europe/Paris",
        timeout="30m",
    )
    yield _job(
        "loyalty",
        "Award loyalty points",
        "team-crm",
        ["marketing"],
        task="loyalty.award_points",
        schedule="every weekday at 7am",
        timezone="America/Chicago",
    )


def _partners(url: str) -> Iterator[JobRequest]:
    yield _job(
        "exchange-rates",
        "Fetch exchange rates",
        "team-pricing",
        ["partner", "pricing"],
        http={"url": f"{url}/readyz?currencies=EUR,USD,JPY", "method": "GET"},
        schedule="30 * * * *",
        queue="partners",
    )
    yield _job(
        "tracking",
        "Poll parcel tracking",
        "team-warehouse",
        ["partner", "shipping"],
        http={"url": f"{url}/livez?carrier=northwind", "method": "GET"},
        schedule="every 30m",
        queue="partners",
    )
    yield _job(
        "labels",
        "Order parcel labels",
        "team-warehouse",
        ["partner", "shipping"],
        http={"url": "http://127.0.0.1:9/v2/labels", "method": "POST"},
        payload={"carrier": "quickparcel", "format": "A6"},
        schedule="30 * * * *",
        queue="partners",
        retry={"max_attempts": 2, "initial": "20s"},
        description="The carrier moved its API; the new address is asked for in SHOP-1182.",
    )


def _reports_and_upkeep() -> Iterator[JobRequest]:
    for region, zone in (("EU", "Europe/Berlin"), ("US", "America/New_York")):
        yield _job(
            f"sales-{region.lower()}",
            f"Daily sales: {region}",
            "team-finance",
            ["reports", "money"],
            task="reports.daily_sales",
            payload={"region": region},
            schedule="30 6 * * *",
            timezone=zone,
            retry={"max_attempts": 2, "initial": "1m"},
        )
    yield _job(
        "finance-weekly",
        "Weekly finance report",
        "team-finance",
        ["reports", "money"],
        task="reports.finance",
        payload={"period": "week"},
        schedule="0 8 * * MON",
        timezone="Europe/Berlin",
    )
    yield _job(
        "finance-monthly",
        "Monthly closing",
        "team-finance",
        ["reports", "money"],
        task="reports.finance",
        payload={"period": "month"},
        schedule="0 5 1 * *",
        timezone="Europe/Berlin",
        priority="high",
    )
    yield _job(
        "clean-sessions",
        "Delete old carts",
        "team-platform",
        ["upkeep"],
        task="upkeep.clean",
        payload={"what": "carts"},
        schedule="30 3 * * *",
        timezone="Asia/Tokyo",
    )
    yield _job(
        "clean-exports",
        "Delete old exports",
        "team-platform",
        ["upkeep"],
        task="upkeep.clean",
        payload={"what": "exports"},
        schedule="30 3 * * SUN",
        timezone="UTC",
    )


def _machine_learning() -> Iterator[JobRequest]:
    yield _job(
        "recommendations",
        "Train recommendations",
        "team-data",
        ["ml"],
        task="ml.train_recommendations",
        payload={"model": "rec-v4"},
        schedule="0 * * * *",
        timezone="UTC",
        timeout="2h",
        description="Takes from forty minutes to more than an hour; a run that is still going skips the next.",
    )
    yield _job(
        "reindex",
        "Rebuild the search index",
        "team-search",
        ["search"],
        task="search.reindex",
        schedule="0 */6 * * *",
        timezone="UTC",
        timeout="30m",
    )
    yield _job(
        "thumbnails",
        "Make thumbnails",
        "team-media",
        ["media"],
        task="media.thumbnails",
        schedule="0 * * * *",
        timezone="Europe/Berlin",
    )


def workflow_jobs() -> list[JobRequest]:
    """A diamond that runs every night: extract, two transformations, load, and a report."""
    extract, orders, customers, load, report = WORKFLOW
    return [
        _step(extract, "extract", [], "etl.extract", {"source": "shop"}, **_NIGHTLY),
        _step(orders, "orders", [extract], "etl.transform", {"table": "orders"}),
        _step(customers, "customers", [extract], "etl.transform", {"table": "customers"}),
        _step(load, "load", [orders, customers], "etl.load", {"target": "warehouse"}),
        _step(report, "report", [load], "reports.finance", {"period": "night"}),
    ]


def _step(
    key: str, name: str, parents: list[str], task: str, payload: dict[str, str], **fields: Any
) -> JobRequest:
    depends_on = [f"key:{parent}" for parent in parents]
    tags = ["etl", "nightly"]
    fields |= {"task": task, "payload": payload, "depends_on": depends_on}
    return _job(key, f"nightly_etl: {name}", "team-data", tags, **fields)


def recent_jobs() -> Iterator[JobRequest]:
    """Those that somebody created in the last two hours."""
    yield _job(
        "checkout-watch",
        "Watch the checkout",
        "team-platform",
        ["monitoring"],
        task="checkout.watch",
        schedule="every 1m",
        timeout="30s",
    )
    yield _job(
        "stock-cache",
        "Refresh the stock cache",
        "team-warehouse",
        ["inventory"],
        task="inventory.refresh_cache",
        schedule="every 2m",
        timeout="30s",
    )


def troubled_jobs() -> Iterator[JobRequest]:
    """Work for a machine that nobody has."""
    for size in ("shoes", "rings"):
        yield _job(
            f"size-advisor-{size}",
            f"Train the size advisor: {size}",
            "team-data",
            ["ml"],
            task="ml.train_recommendations",
            payload={"model": f"size-{size}"},
            queue="gpu",
            requires={"labels": {"gpu": "yes"}},
            schedule={"in": "10s"},
            description="Waits until somebody starts a worker with --label gpu=yes.",
        )


def coming_jobs(now: datetime) -> Iterator[JobRequest]:
    """One-time jobs that are yet to come."""
    at = (now + timedelta(days=9)).replace(hour=23, minute=0, second=0, microsecond=0)
    yield _job(
        "black-friday",
        "Switch to Black Friday prices",
        "team-pricing",
        ["pricing", "campaign"],
        task="pricing.update",
        payload={"strategy": "black-friday"},
        schedule={"at": at.isoformat()},
        priority="critical",
    )
    yield _job(
        "voucher",
        "Mail vouchers after the payment outage",
        "team-crm",
        ["mail", "campaign"],
        task="mail.newsletter",
        payload={"edition": "voucher"},
        schedule={"in": "3h"},
        timeout="30m",
    )
