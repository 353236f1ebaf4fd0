"""An HTTP server for Prometheus: bounded in clients, and in how long they may say nothing."""

from __future__ import annotations

import logging
import socket
import threading
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

log = logging.getLogger("switchd.metrics")

CLIENTS_MAX = 16
"""Requests at a time; more are hung up on."""

Request = socket.socket | tuple[bytes, socket.socket]


class Handler(WSGIRequestHandler):
    """A request, of which nothing is logged."""

    timeout = 10
    """Seconds for which a client may say nothing, or not read."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing."""


class HttpServer(ThreadingMixIn, WSGIServer):
    """A thread for each request, as long as there are places."""

    daemon_threads = True

    def __init__(self, host: str, port: int, application: WSGIApplication) -> None:
        """Listens.

        Raises:
            OSError: The address cannot be used.
        """
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._places = threading.BoundedSemaphore(CLIENTS_MAX)
        super().__init__((host, port), Handler)
        self.set_app(application)

    def process_request(self, request: Request, client_address: object) -> None:
        """Begins a request, if there is a place for it."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Request, client_address: object) -> None:
        """Answers, and makes place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Request, client_address: object) -> None:  # noqa: ARG002
        """What a client did wrong, or did not do in time, is no error of ours."""
        log.debug("metrics client %s went", client_address, exc_info=True)
