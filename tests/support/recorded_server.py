"""A real HTTP server that answers what it was told to, in order, and remembers what it was asked."""

import threading
from collections import deque
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import msgspec


class Asked(NamedTuple):
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Message
    body: bytes

    @property
    def json(self) -> object:
        return msgspec.json.decode(self.body)


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


HANG_UP = Answer(0, b"", {})


class RecordedServer:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: deque[Answer] = deque()
        self._always: dict[str, Answer] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def will_answer(self, body: object = None, status: int = 200, **headers: str) -> None:
        encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
        self._answers.append(Answer(status, encoded, headers))

    def will_always_answer(self, path: str, body: object) -> None:
        """To whoever asks for this, in whatever order."""
        self._always[path] = Answer(200, msgspec.json.encode(body), {})

    def will_refuse(self, status: int, detail: str = "", errors: object = (), **headers: str) -> None:
        problem = {
            "type": "t",
            "title": "No",
            "status": status,
            "detail": detail,
            "errors": errors,
            "request_id": "r1",
        }
        self.will_answer(problem, status, **headers)

    def will_hang_up(self) -> None:
        self._answers.append(HANG_UP)

    def _next_answer(self, path: str) -> Answer:
        """The last one is repeated."""
        if path in self._always:
            return self._always[path]
        return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 (`self` is the handler's)
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                server.asked.append(Asked(self.command, url.path, parse_qs(url.query), self.headers, body))
                answer = server._next_answer(url.path)
                if answer is HANG_UP:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 (names of the base class)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
