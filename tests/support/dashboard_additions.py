"""What the demo does not have: a command, a call whose end is reported later, and tasks without workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from support.dashboard_server import DashboardServer
from support.waiting import eventually_without_loop
from tickwork import Client


class _Accepts(BaseHTTPRequestHandler):
    """Takes every call and says that its end comes later."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is given)
        pass


@contextmanager
def more_to_show(server: DashboardServer) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Accepts) as partner, Client(server.url, server.key) as client:
        Thread(target=partner.serve_forever, daemon=True).start()
        _add_a_command(client)
        _add_a_call(client, f"http://127.0.0.1:{partner.server_port}/render")
        _add_tasks(client)
        yield
        partner.shutdown()


def _add_a_command(client: Client) -> None:
    job = client.create_job(
        key="copy-database",
        name="Copy the database",
        owner="team-platform",
        tags=["upkeep"],
        command=["echo", "copied", "48.7 GB", "of shop"],
        env={"PGHOST": "db-2.shop.example", "PGPASSWORD": "not shown"},
        exit_codes={"success": [0], "final": [64]},
        schedule="every day at 01:00",
        timezone="Europe/Berlin",
        timeout="2h",
        warn_after="45m",
        start_within="6h",
    )
    client.run_job(job.id, wait=60)


def _add_a_call(client: Client, url: str) -> None:
    job = client.create_job(
        key="product-video",
        name="Render the product video",
        owner="team-media",
        tags=["media", "partner"],
        http={"url": url, "completion": "callback", "heartbeat": "1h"},
        payload={"article": "40-118", "seconds": 30},
        timeout="2h",
    )
    eventually_without_loop(lambda: client.list_executions(job=job.id, status="running").items)


def _add_tasks(client: Client) -> None:
    client.declare_task("mail.birthday", description="Congratulate customers.")
    client.declare_task("mail.survey", description="Ask customers how it was.")
    client.disable_task("mail.survey", reason="it asks twice, see SHOP-1190")
    client.declare_task("upkeep.vacuum", description="Delete what nobody needs any more.")
    client.retire_task("upkeep.vacuum", replacement="upkeep.clean")
