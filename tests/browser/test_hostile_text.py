"""Text that tries to run as a script, in everything that a user or a task can write, on every page."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import BrowserContext, Dialog, Page, expect

from browser.every_page import LISTS, open_page
from support.dashboard_server import DashboardServer
from support.waiting import eventually_without_loop
from tickwork import Client, TickworkError

HOSTILE = (
    "<script>window.__xss=1</script>",
    "</script><script>window.__xss=2</script>",
    "<img src=x onerror=window.__xss=3>",
    '"><img src=x onerror=alert(4)>',
    "'><svg onload=window.__xss=5>",
    "<svg><script>window.__xss=6</script></svg>",
    "<iframe src=javascript:parent.__xss=7></iframe>",
    "<iframe srcdoc='<script>parent.__xss=8</script>'></iframe>",
    "<a href=javascript:window.__xss=9>here</a>",
    "javascript:window.__xss=10",
    "data:text/html,<script>opener.__xss=11</script>",
    "<body onload=window.__xss=12>",
    "<input autofocus onfocus=window.__xss=13>",
    "<details open ontoggle=window.__xss=14>",
    "<video><source onerror=window.__xss=15></video>",
    "<style>@import '//attacker.invalid/16'</style>",
    "<link rel=stylesheet href=//attacker.invalid/17>",
    "<base href=//attacker.invalid/18/>",
    "<meta http-equiv=refresh content='0;url=//attacker.invalid/19'>",
    "{{constructor.constructor('window.__xss=20')()}}",
    "${window.__xss=21}",
    "`;window.__xss=22;//",
    "';window.__xss=23;//",
    "<math><mi xlink:href=javascript:window.__xss=24>x</mi></math>",
    "\u202e<ScRiPt>window.__xss=25</sCrIpT>",
)


class Written(NamedTuple):
    text: str
    job: str
    failed: str  # an execution
    completed: str
    notification: str


Write = Callable[[int], Written]


@pytest.fixture(scope="module")
def write(server: DashboardServer, client: Client) -> Write:
    """Writes one text, once. Tests of several processes write only what they look at."""
    return cache(lambda number: _write(server, client, HOSTILE[number], number))


def _write(server: DashboardServer, client: Client, text: str, number: int) -> Written:
    """Everything that one text can be written to: by a user, and by a worker of its own with a task of that name."""
    worker = _call(
        server,
        "/v1/workers",
        {
            "name": text,
            "tasks": [
                {"name": text, "description": text, "parameters": {"title": text, "description": text}}
            ],
            "labels": {"note": text},
            "slots": 2,
        },
    )["id"]
    client.create_key(f"{number} {text}", scopes=["read"])
    url = "http://127.0.0.1:9/?" + text.replace(" ", "+").replace("\u202e", "")
    client.create_job(name=text, http={"url": url}, schedule="0 3 1 1 *", tags=["hostile-http"])
    job = client.create_job(
        name=text,
        key=text,
        description=text,
        owner=text,
        tags=["hostile", text],
        task=text,
        payload={text: [text]},
    )
    client.create_job(name=text, task=text, tags=["hostile"], depends_on=[job.id])
    failed = _run(server, worker, text, fails=True)
    client.create_job(name=text, task=text, tags=["hostile"], payload=text)
    completed = _run(server, worker, text, fails=False)
    client.set_ping(f"hostile-{number}", schedule="every 1h", description=text)
    client.signal_ping(f"hostile-{number}", "fail", log=text)
    return Written(text, job.id, failed, completed, _tell(client, text, number))


def _tell(client: Client, text: str, number: int) -> str:
    """A channel whose texts are hostile, told of an execution of which everything is."""
    braces = text.replace("{", "{{").replace("}", "}}")
    template = {"title": braces, "body": braces + " {execution.error_message}"}
    name = f"hostile-{number}"
    client.set_channel(name, kind="webhook", url="http://127.0.0.1:9/hook?" + quote(text), template=template)
    client.set_notification_rule(name, on=["failed"], to=[name], tag=text)
    client.create_job(name=text, task="fail", payload={"message": text}, tags=["hostile-told", text], wait=60)
    return eventually_without_loop(lambda: client.list_notifications(channel=name).items)[0].id


def _run(server: DashboardServer, worker: str, text: str, fails: bool) -> str:
    (claimed,) = _call(server, f"/v1/workers/{worker}/claim", {"max": 1, "wait": 30})["items"]
    execution, attempt = f"/v1/executions/{claimed['id']}", {"attempt": claimed["attempt"]}
    _call(server, f"{execution}/start", attempt)
    _call(server, f"{execution}/progress", attempt | {"fraction": 0.5, "message": text, "log": [text]})
    error = {"type": text, "message": text, "traceback": f"Traceback:\n  {text}"}
    if fails:
        _call(server, f"{execution}/fail", attempt | {"error": error, "retry": False})
    else:
        _call(server, f"{execution}/complete", attempt | {"result": {text: text}})
    return str(claimed["id"])


def _call(server: DashboardServer, path: str, body: object) -> Any:
    request = Request(  # noqa: S310 (the server of the test)
        server.url + path,
        json.dumps(body).encode(),
        {"authorization": f"Bearer {server.key}", "content-type": "application/json"},
        method="POST",
    )
    with urlopen(request, timeout=60) as answer:  # noqa: S310 (likewise)
        return json.load(answer)


@pytest.fixture
def watched(context: BrowserContext, page: Page, errors: list[str]) -> Page:
    """A page on which everything that hostile text could do is an error; the console already tells violations of the
    content security policy."""
    context.on("request", lambda request: _check_address(request.url, errors))
    page.on("dialog", lambda dialog: _refuse(dialog, errors))
    page.set_viewport_size({"width": 1440, "height": 2400})  # so that every row of a list is drawn
    return page


def _refuse(dialog: Dialog, errors: list[str]) -> None:
    errors.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _check_address(url: str, errors: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "data:image/", "blob:http://127.0.0.1:")):
        errors.append(f"request to {url}")


def assert_harmless(page: Page) -> None:
    assert page.evaluate("window.__xss") is None
    schemes = page.evaluate("[...new Set([...document.querySelectorAll('a')].map((link) => link.protocol))]")
    assert set(schemes) <= {"http:", "https:", ":", ""}, page.url
    inside = "main :is(script, iframe, base, meta, link, video, math, object, embed)"
    assert page.locator(inside).count() == 0, page.url


def test_hostile_text_is_only_text_on_the_pages_of_lists(watched: Page, write: Write) -> None:
    for number in range(len(HOSTILE)):
        write(number)
    for path in (*LISTS, "/jobs?tag=hostile", "/jobs?tag=hostile-http", "/executions?tag=hostile"):
        open_page(watched, path)
        assert_harmless(watched)
    open_page(watched, "/jobs?tag=hostile-http")
    for text in HOSTILE:
        expect(watched.get_by_role("link", name=text, exact=True).first).to_be_visible()


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_is_only_text_where_it_is_shown_whole(watched: Page, write: Write, number: int) -> None:
    text, job, failed, completed, notification = write(number)
    for path in (
        f"/jobs/{job}",
        f"/executions/{failed}",
        f"/executions/{completed}",
        f"/pings/hostile-{number}",
        f"/notifications/{notification}",
        f"/channels/hostile-{number}",
        f"/notification-rules/hostile-{number}",
    ):
        open_page(watched, path)
        expect(watched.get_by_text(text).first).to_be_visible()
        assert_harmless(watched)
    if number % 5 == 0:  # pages that show the same again
        found = f"/jobs?q={quote(text)}&owner={quote(text)}"
        for path in (
            found,
            f"/jobs/{job}?tab=edit",
            f"/channels/hostile-{number}?tab=template",
            f"/workflows/{job}",
            f"/executions?task={quote(text)}",
        ):
            open_page(watched, path)
            assert_harmless(watched)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_queue_cannot_have_such_a_name(client: Client, text: str) -> None:
    with pytest.raises(TickworkError, match="queue"):
        client.create_job(task="work", queue=text)


def test_an_address_of_another_scheme_is_refused(client: Client) -> None:
    with pytest.raises(TickworkError, match="url"):
        client.create_job(http={"url": "javascript:window.__xss=1"})
