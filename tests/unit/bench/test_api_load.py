"""The target and the caller of the bench speak enough HTTP for one another."""

import asyncio

from tickwork.bench.api_load import ApiRequest, Load, send_load
from tickwork.bench.http_target import Target
from tickwork.bench.run_ledger import Ledger, Ledgers


async def _errand(tmp_path, requests, **fields):
    ledger = Ledger(tmp_path / "1.ledger")
    server = await asyncio.get_running_loop().create_server(lambda: Target(ledger), "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return await send_load(Load(url=url, key="k", requests=requests, **fields))


async def test_every_request_is_sent_once_and_answered(tmp_path):
    requests = [ApiRequest("/", f'{{"n":{number}}}') for number in range(50)]
    answers = await _errand(tmp_path, requests, in_flight=4)
    assert (answers.answered, answers.refused, len(answers.latencies)) == (50, 0, 50)
    assert list(Ledgers(tmp_path).counts(50)) == [1] * 50


async def test_requests_are_sent_again_and_again_for_a_while(tmp_path):
    answers = await _errand(tmp_path, [ApiRequest("/", '{"n":3}')], in_flight=2, seconds=0.05)
    assert answers.answered == Ledgers(tmp_path).counts(4)[3] > 1
    assert answers.summary()["p99_ms"] > 0
