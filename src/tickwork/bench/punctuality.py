"""How late recurring jobs begin whose due times are spread over every second."""

from tickwork.bench.account import Balance, settle_accounts
from tickwork.bench.plan import Plan
from tickwork.bench.recurring import PERIOD, end_pulse, start_pulse, wait_for
from tickwork.bench.show import Show
from tickwork.bench.stage import Stage
from tickwork.bench.task import SPREAD
from tickwork.bench.window import Window, watch

_TASK = "bench.spread"


async def watch_spread(on: Stage, show: Show, plan: Plan, rate: int) -> tuple[Window, Balance]:
    pulse = await start_pulse(
        on, rate, show.counter("active schedules", rate * PERIOD), task=_TASK, timing={"jitter": SPREAD}
    )
    await wait_for(pulse)
    await watch(on, show, plan.warm_up, "warm-up")
    window = await watch(on, show, plan.seconds)
    await end_pulse(on, pulse)
    return window, await settle_accounts(on, await pulse.due_times(on), show, _TASK)
