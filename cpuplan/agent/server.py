"""The agent's HTTP server: `/metrics`, `/healthz` and `/readyz`, and nothing else."""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from cpuplan.render.prometheus import CONTENT_TYPE

#: Requests at once: a scraper and two probes, with room. More are turned away without an answer.
_MOST = 16
#: Seconds that a client may take.
_PATIENCE = 10
_PLAIN = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """What a page says."""

    text: str
    status: int = 200
    kind: str = _PLAIN


#: What makes each page, by its path.
Pages = dict[str, Callable[[], Answer]]


def metrics(text: Callable[[], str]) -> Callable[[], Answer]:
    """A page of metrics."""
    return lambda: Answer(text(), kind=CONTENT_TYPE)


class Server(ThreadingHTTPServer):
    """Serves pages in threads of its own. OSError where the address cannot be had."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.address_family = socket.AF_INET6 if ":" in host or not host else socket.AF_INET
        if not host and not socket.has_dualstack_ipv6():
            self.address_family = socket.AF_INET
        self._room = threading.BoundedSemaphore(_MOST)
        super().__init__((host, port), type("Pages", (_Handler,), {"pages": pages}))

    def server_bind(self) -> None:
        """Take both families where no address is given; ask no name server for our own name."""
        if self.address_family == socket.AF_INET6 and not self.server_address[0]:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve in a new thread, unless there are too many already."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that went away or took too long is no fault of ours."""

    def start(self) -> None:
        """Serve until the process ends."""
        threading.Thread(target=self.serve_forever, name="http", daemon=True).start()

    def stop(self) -> None:
        """Close the address."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    pages: Pages = {}  # noqa: RUF012 - each server makes a class of its own
    timeout = _PATIENCE
    server_version = "cpuplan"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_text=True)

    def do_HEAD(self) -> None:
        self._answer(with_text=False)

    def _answer(self, *, with_text: bool) -> None:
        page = self.pages.get(self.path.partition("?")[0])
        answer = page() if page else Answer("not found\n", 404)
        data = answer.text.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if with_text:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in http.server
        """Nothing: a scrape every few seconds is no news."""
