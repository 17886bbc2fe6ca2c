"""Stand-ins on loopback for the services behind channels. Each takes what the service's documentation allows, refuses
the rest with the answers that it documents, and keeps what a person would see."""

import asyncio
from typing import Any

import msgspec

from support.loopback_target import Request, respond

SLACK_PATH = "/services/T0000/B0000/token-of-the-webhook"
TEAMS_PATH = (
    "/workflows/0123/triggers/manual/paths/invoke?api-version=2016-06-01&sp=run&sv=1.0&sig=signature-of-it"
)
ROUTING_KEY = "0123456789abcdef0123456789abcdef"
API_KEY = "01234567-89ab-cdef-0123-456789abcdef"


class Receiver:
    """Answers one request after the other; `told` has the bodies that it took."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        assert request.headers["content-type"] == "application/json"
        body = msgspec.json.decode(request.body)
        status, answer = self.answer(request, body)
        if status.startswith("2"):
            self.told.append(body)
        await respond(status, answer)(request, writer)

    def answer(self, request: Request, body: Any) -> tuple[str, bytes]:
        raise NotImplementedError


class Slack(Receiver):
    def answer(self, request: Request, body: Any) -> tuple[str, bytes]:
        if request.line.split()[1] != SLACK_PATH:
            return "404 Not Found", b"no_service"
        blocks = body.get("blocks", [])
        if not body.get("text") and not blocks:
            return "400 Bad Request", b"no_text"
        if len(blocks) > 50 or not all(map(_is_slack_block, blocks)):
            return "400 Bad Request", b"invalid_blocks"
        return "200 OK", b"ok"


def _is_slack_block(block: dict[str, Any]) -> bool:
    match block:
        case {"type": "header", "text": {"type": "plain_text", "text": str(text)}}:
            return 0 < len(text) <= 150
        case {"type": "section", "text": {"type": "mrkdwn" | "plain_text", "text": str(text)}}:
            return 0 < len(text) <= 3000
        case {"type": "context", "elements": [*elements]}:
            return 0 < len(elements) <= 10
    return False


class Teams(Receiver):
    def answer(self, request: Request, body: Any) -> tuple[str, bytes]:
        if request.line.split()[1] != TEAMS_PATH:
            return "401 Unauthorized", b'{"error":{"code":"DirectApiAuthorizationRequired"}}'
        if len(request.body) > 28 * 1024:
            return "413 Payload Too Large", b""
        match body:
            case {
                "type": "message",
                "attachments": [
                    {
                        "contentType": "application/vnd.microsoft.card.adaptive",
                        "content": {"type": "AdaptiveCard", "version": str(), "body": [*blocks]},
                    }
                ],
            } if blocks and all(block["type"] in ("TextBlock", "FactSet") for block in blocks):
                return "202 Accepted", b""
        return "400 Bad Request", b'{"error":{"code":"TriggerInputSchemaMismatch"}}'


class PagerDuty(Receiver):
    def __init__(self) -> None:
        super().__init__()
        self.open: dict[str, str] = {}  # the summary of each open incident, by its key

    def answer(self, request: Request, body: Any) -> tuple[str, bytes]:
        problems = [*_pagerduty_problems(body)]
        if request.line.split()[1] != "/v2/enqueue" or problems:
            answer = {"status": "invalid event", "message": "Event object is invalid", "errors": problems}
            return "400 Bad Request", msgspec.json.encode(answer)
        key = body["dedup_key"]
        if body["event_action"] == "trigger":
            self.open[key] = body["payload"]["summary"]
        else:
            self.open.pop(key, None)
        answer = {"status": "success", "message": "Event processed", "dedup_key": key}
        return "202 Accepted", msgspec.json.encode(answer)


def _pagerduty_problems(event: dict[str, Any]) -> list[str]:
    problems = []
    if event.get("routing_key") != ROUTING_KEY:
        problems.append("'routing_key' is invalid (must be a 32-character key)")
    if event.get("event_action") not in ("trigger", "acknowledge", "resolve"):
        problems.append("'event_action' is invalid")
    if not 0 < len(event.get("dedup_key", "")) <= 255:
        problems.append("'dedup_key' is invalid")
    if event.get("event_action") == "trigger":
        payload = event.get("payload", {})
        if not 0 < len(payload.get("summary", "")) <= 1024:
            problems.append("'payload.summary' is missing or blank")
        if not payload.get("source"):
            problems.append("'payload.source' is missing or blank")
        if payload.get("severity") not in ("critical", "error", "warning", "info"):
            problems.append(
                "'payload.severity' is invalid (must be one of: 'critical', 'warning', 'error' or 'info')"
            )
    return problems


class Opsgenie(Receiver):
    def __init__(self) -> None:
        super().__init__()
        self.open: dict[str, str] = {}  # the message of each open alert, by its alias

    def answer(self, request: Request, body: Any) -> tuple[str, bytes]:
        if request.headers.get("authorization") != f"GenieKey {API_KEY}":
            return "401 Unauthorized", b'{"message":"Could not authenticate","took":0.001}'
        path = request.line.split()[1]
        if path == "/v2/alerts":
            if not 0 < len(body.get("message", "")) <= 130 or len(body.get("description", "")) > 15_000:
                return "422 Unprocessable Entity", b'{"message":"Request body is not processable"}'
            self.open.setdefault(body["alias"], body["message"])
        elif path.startswith("/v2/alerts/") and path.endswith("/close?identifierType=alias"):
            self.open.pop(path.split("/")[3], None)
        else:
            return "404 Not Found", b'{"message":"No such resource"}'
        return "202 Accepted", b'{"result":"Request will be processed","took":0.1,"requestId":"r1"}'
