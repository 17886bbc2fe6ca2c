"""How each run of the past went: how long it took, what it said, and whether and why it failed."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.job import HTTP_TASK
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Failure, Run

_OUTAGE = (
    timedelta(days=3, hours=2),
    timedelta(hours=2, minutes=40),
)  # of a payment provider: since begin, length
_TYPICAL = {  # seconds
    "orders.import": 6.0,
    "inventory.sync": 14.0,
    "payments.capture": 3.0,
    "payments.refund": 2.0,
    "mail.shipping_updates": 25.0,
    "mail.abandoned_carts": 18.0,
    "mail.newsletter": 540.0,
    "pricing.update": 11.0,
    "fraud.scan": 4.0,
    "ml.train_recommendations": 3000.0,
    "search.reindex": 610.0,
    "reports.daily_sales": 95.0,
    "reports.finance": 190.0,
    "etl.extract": 420.0,
    "etl.transform": 260.0,
    "etl.load": 330.0,
    "media.thumbnails": 120.0,
    "checkout.watch": 0.4,
    "inventory.refresh_cache": 0.3,
    "loyalty.award_points": 75.0,
    "upkeep.clean": 30.0,
    HTTP_TASK: 0.12,
    NOTIFY_TASK: 0.35,
}
_LATE_SHARE = 0.004
_SLOW_SHARE = 0.08


class PastOutcome(NamedTuple):
    start_delay: float  # seconds after it could have started
    run_time: float
    result: bytes | None
    failure: Failure | None
    log: list[tuple[float, str, str]]  # seconds after the start, level, text


class PastOutcomes:
    def __init__(self, begin: datetime, keys: dict[int, str]) -> None:
        """`keys`: of the jobs, by their numbers."""
        self._begin = begin
        self._keys = keys
        self._chance = random.Random(20_26)  # noqa: S311 (the same history every time)

    def of(self, run: Run) -> PastOutcome:
        since = from_micros(run.at) - self._begin
        typical = _TYPICAL.get(run.task, 5.0)
        run_time = typical * self._chance.lognormvariate(0, 0.25)
        failure = self._failure(run, since)
        if failure is not None:
            run_time = min(run_time, 20.0) if failure.type.endswith("Timeout") else run_time * 0.4
        delay = self._chance.lognormvariate(-5.5, 0.8)
        if self._chance.random() < _LATE_SHARE and run.attempt == 1:
            delay = self._chance.uniform(70, 240)
        result = None if failure else self._result(run)
        return PastOutcome(delay, run_time, result, failure, list(self._log(run, run_time, failure)))

    def _failure(self, run: Run, since: timedelta) -> Failure | None:
        key = self._keys.get(run.job, "")
        begun, length = _OUTAGE
        if key == "capture-paylane" and begun <= since < begun + length:
            return _failure("GatewayTimeout", "Paylane did not answer within 20 s", _CAPTURE)
        if key == "labels" and since > _LABELS_FAIL:
            return Failure("ConnectionFailed", "127.0.0.1 refused the connection", kinds=["ConnectionFailed"])
        if key in ("sales-us", "sales-eu") and since > _SALES_FAIL:
            return _failure("KeyError", f"'net_total' (export of {key[-2:].upper()})", _SALES, retry=False)
        share, failure = _SOMETIMES.get(key, _RARELY)
        return failure if run.attempt == 1 and self._chance.random() < share else None

    def _result(self, run: Run) -> bytes:
        if run.task == HTTP_TASK:
            return msgspec.json.encode({"status": 200, "body": {"alive": True}})
        if run.task == NOTIFY_TASK:
            return msgspec.json.encode({"status": 200, "body": "ok"})
        return msgspec.json.encode({"rows": self._chance.randint(4, 900)})

    def _log(self, run: Run, run_time: float, failure: Failure | None) -> Iterator[tuple[float, str, str]]:
        if run.task in (HTTP_TASK, NOTIFY_TASK):
            return
        yield 0.01, "info", f"attempt {run.attempt} of {run.task}"
        rows = 0
        for step in range(1, self._chance.randint(2, 5)):
            rows += self._chance.randint(10, 300)
            yield run_time * step / 6, "info", f"{rows} rows so far"
        if self._chance.random() < _SLOW_SHARE:
            yield run_time * 0.9, "warning", "slower than usual: the database answered after 1.8 s"
        if failure:
            yield run_time, "error", f"{failure.type}: {failure.message}"
        else:
            yield run_time, "info", f"done, {rows} rows"


def _failure(kind: str, message: str, traceback: str, retry: bool = True) -> Failure:
    text = f"Traceback (most recent call last):\n{traceback}\n{kind}: {message}"
    return Failure(kind, message, text, retry=retry, kinds=[kind])


def _lines(*frames: tuple[str, int, str, str]) -> str:
    return "\n".join(
        f'  File "/srv/shop/{file}", line {line}, in {function}\n    {code}'
        for file, line, function, code in frames
    )


_CAPTURE = _lines(
    ("shop/payments/capture.py", 41, "capture_payments", "answer = await provider.capture(order.payment_id)"),
    (
        "shop/payments/paylane.py",
        88,
        "capture",
        "raise GatewayTimeout(f'{self.name} did not answer within {limit} s')",
    ),
)
_SALES = _lines(
    ("shop/reports/daily_sales.py", 27, "daily_sales", "total = sum(row['net_total'] for row in rows)"),
    ("shop/reports/daily_sales.py", 27, "<genexpr>", "total = sum(row['net_total'] for row in rows)"),
)
_STOCK = _lines(
    ("shop/inventory/sync.py", 63, "sync_inventory", "compare(ours, theirs)"),
    ("shop/inventory/compare.py", 19, "compare", "raise StockMismatch(difference)"),
)
_FRAUD = _lines(
    ("shop/risk/scan.py", 33, "scan_for_fraud", "model = registry.current('fraud')"),
    ("shop/risk/registry.py", 52, "current", "raise ModelNotLoaded(name)"),
)
_THUMBNAILS = _lines(("shop/media/thumbnails.py", 48, "make_thumbnails", "small = picture.resize(size)"))
_RESET = _lines(
    ("shop/http.py", 112, "fetch", "return await self._session.get(address)"),
    ("shop/http.py", 71, "get", "data = await self._reader.read(65536)"),
)
_LABELS_FAIL = timedelta(days=4, hours=16)  # from then on
_SALES_FAIL = timedelta(days=5)
_RARELY = (0.0025, _failure("ConnectionResetError", "[Errno 104] Connection reset by peer", _RESET))
_SOMETIMES = {  # by the key of the job: the share of first attempts that fail
    "stock-osaka": (0.07, _failure("StockMismatch", "Osaka reports 3 of article 40-118, we have 5", _STOCK)),
    "fraud-scan": (0.12, _failure("ModelNotLoaded", "model fraud-2026-11 is being replaced", _FRAUD)),
    "thumbnails": (0.05, _failure("MemoryError", "picture of 14,400 x 9,600 pixels", _THUMBNAILS)),
}
