"""A connection by a kubeconfig, with the Kubernetes project's own client for Python.

It knows what kubeconfigs of today hold: certificates, tokens, files of these, programs that give
credentials, proxies. It is in the extra `cluster`, and imported here only. What it makes of them
are urllib3's connections; asking is done here, since the client retries, waits as long as a server
says, has a limit for each read only, and reads answers of any size.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path as FilePath
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from urllib3 import PoolManager, ProxyManager
from urllib3.connection import HTTPConnection

from cpuplan.base import served
from cpuplan.base.foreign import ForeignError, load
from cpuplan.check.cluster.reading import LIMITS, AnswerError, Path, UnreachableError, wrong


class _Timed:
    """A connection whose answers are read by the deadline, also that of a proxy on the way."""

    response_class = served.Response


class _Direct(_Timed):
    """One that is made by the deadline too."""

    host: str
    port: int
    socket_options: Any

    def _new_conn(self) -> socket.socket:
        options = self.socket_options or ()
        return served.connect((self.host, self.port), options=options)


def timed(manager: Any) -> Any:
    """The manager with such connections in its pools. A SOCKS proxy makes connections itself."""
    kind = _Direct if type(manager) in (PoolManager, ProxyManager) else _Timed
    manager.pool_classes_by_scheme = {
        scheme: _timed_pool(pool, kind) for scheme, pool in manager.pool_classes_by_scheme.items()
    }
    return manager


def _timed_pool(pool: type[Any], kind: type[_Timed]) -> type[Any]:
    connection: type[HTTPConnection] = pool.ConnectionCls
    made = type(connection.__name__, (kind, connection), {})
    return type(pool.__name__, (pool,), {"ConnectionCls": made})


#: Seconds for one answer unless told otherwise: the API server's own limit is 60.
_ANSWER = 30.0
#: Seconds for a program that gives credentials, where nobody has said how long all may take.
_CREDENTIALS = 60.0
#: Bytes that are read of a refusal: the API server's have a few hundred.
_MAX_REFUSAL = 64 * 1024
#: Set in every pod (k8s.io/client-go, rest.InClusterConfig).
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_MAX_PROBLEM = 300
_OK, _REDIRECTS, _UNAUTHORIZED, _FORBIDDEN = 200, range(300, 400), 401, 403
_JSON = "application/json"
#: The names of our queries in the API.
_QUERIES = {"limit": "limit", "_continue": "continue", "field_selector": "fieldSelector"}


class MissingClientError(Exception):
    """The client is not installed."""


class Client:
    """A connection to the API server of a context of a kubeconfig."""

    def __init__(
        self, kubeconfig: FilePath | None, context: str | None, seconds: float = _ANSWER
    ) -> None:
        """Raises MissingClientError, and UnreachableError for a kubeconfig that cannot be used.

        An answer may take so many seconds.
        """
        try:
            client = import_module("kubernetes.client")
            config = import_module("kubernetes.config")
        except ImportError as error:
            raise MissingClientError(str(error)) from error
        self._seconds = seconds
        with _heard() as said:
            self._settings = _in_time(lambda: _configuration(client, config, kubeconfig, context))
        #: Programs that give credentials, and fail: without any, the API refuses the user.
        self._said = "; ".join(said)
        #: Credentials that were sent: a server that repeats them does not get them printed.
        self._sent: set[str] = set()
        self.server = str(self._settings.host)
        if not self.server.startswith(("https://", "http://")):
            raise UnreachableError("the kubeconfig cannot be used: its cluster has no server")
        self._pool = _pool(client, self._settings)

    def get(self, path: Path, name: str) -> Mapping[str, Any]:
        """One object."""
        return self._ask(path.text(name), {})

    def page(self, path: Path, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """One page of objects, of all namespaces."""
        return self._ask(path.text(), {_QUERIES[name]: value for name, value in query.items()})

    def _ask(self, path: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        from urllib3.exceptions import HTTPError

        address = f"{self.server}{path}" + (f"?{urlencode(query)}" if query else "")
        with served.within(self._seconds), _heard():  # urllib3 tells of each attempt
            try:
                return self._asked(address)
            except (HTTPError, OSError, ValueError) as error:
                problem = f"there was no whole answer for {path} within {self._seconds:g} s"
                told = problem if served.is_over() else self._without_credentials(_problem(error))
                raise UnreachableError(told) from error

    def _asked(self, address: str) -> Mapping[str, Any]:
        response = self._pool.request(
            "GET",
            address,
            headers=self._headers(),
            retries=_stale(),
            timeout=served.left(),
            redirect=False,
            preload_content=False,
        )
        try:
            return self._answer(response)
        finally:
            response.close()

    def _headers(self) -> dict[str, str]:
        """Credentials as the client gives them, who may have to ask a program for new ones."""
        given = {"Accept": _JSON, "User-Agent": "cpuplan", "Accept-Encoding": "identity"}
        for credential in _in_time(self._settings.auth_settings).values():
            if credential["in"] == "header" and credential["value"]:
                given[credential["key"]] = credential["value"]
                self._sent.add(str(credential["value"]).rpartition(" ")[2])
        return given

    def _without_credentials(self, text: str) -> str:
        for word in self._sent - {""}:
            text = text.replace(word, "REDACTED")
        return text

    def _answer(self, response: Any) -> Mapping[str, Any]:
        status, kind = response.status, response.headers.get("Content-Type", _JSON)
        if status in _REDIRECTS:
            raise UnreachableError(
                f"it sends to another address ({status}), as a login page does: it is no API server"
            )
        most = LIMITS.bytes if status == _OK else _MAX_REFUSAL
        body = response.read(most + 1, decode_content=False)
        if status != _OK:
            raise self._refusal(status, body, response.headers.get("Retry-After", ""))
        if len(body) > most:
            raise wrong(f"an answer has more than {most:,} bytes")
        if kind.partition(";")[0].strip().lower() != _JSON:
            raise UnreachableError("it does not answer with JSON: it is no API server")
        try:
            data = load(body, LIMITS)
        except ForeignError as error:
            raise UnreachableError(f"its answer {error.predicate}: it is no API server") from error
        if not isinstance(data, dict):
            raise UnreachableError("it does not answer with an object: it is no API server")
        return data

    def _refusal(self, status: int, body: bytes, later: str) -> Exception:
        if status in (_UNAUTHORIZED, _FORBIDDEN) and self._said:
            return UnreachableError(f"no credentials: {self._said}")
        pause = float(later) if later.isascii() and later.isdigit() and len(later) < 10 else 0.0
        return AnswerError(
            status, self._without_credentials(body.decode("utf-8", "replace")), pause
        )


def _configuration(
    client: Any, config: Any, kubeconfig: FilePath | None, context: str | None
) -> Any:
    """The settings of a context, as kubectl would take them."""
    settings = client.Configuration()
    # Only the kubeconfig names a proxy: what is sent there has the user's token.
    settings.proxy, settings.no_proxy = None, ""
    is_asked = kubeconfig or context or os.environ.get("KUBECONFIG")
    try:
        if _IN_CLUSTER in os.environ and not is_asked:
            config.load_incluster_config(client_configuration=settings)
        else:
            file = str(kubeconfig) if kubeconfig else None
            config.load_kube_config(
                file, context=context, client_configuration=settings, persist_config=False
            )
    except Exception as error:  # of YAML, of files, of keys: the client has no class for all
        raise UnreachableError(f"the kubeconfig cannot be used: {_problem(error)}") from error
    return settings


def _pool(client: Any, settings: Any) -> Any:
    """urllib3's connections with the certificates and the proxy of the settings, by a deadline."""

    try:
        return timed(client.ApiClient(settings).rest_client.pool_manager)
    except Exception as error:  # of TLS, of files, of addresses, of a package for SOCKS
        raise UnreachableError(f"the kubeconfig cannot be used: {_problem(error)}") from error


def _stale() -> Any:
    """Once anew where a connection that was kept turns out to be closed; nothing else."""
    from urllib3 import Retry

    return Retry(
        total=1, connect=0, redirect=0, status=0, other=0, respect_retry_after_header=False
    )


def _in_time(call: Callable[[], Any]) -> Any:
    """What the client answers, which may start a program that ends when it likes, or never."""
    answers: list[Any] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            answers.append(call())
        except Exception as error:  # told below, in the thread that asked
            problems.append(error)

    seconds = min(served.left_or(_CREDENTIALS), _CREDENTIALS)
    # A thread that does not end is left behind: it ends with this process.
    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise UnreachableError(
            f"the program of the kubeconfig that gives credentials did not end in {seconds:.0f} s"
        )
    if problems:
        problem = problems[0]
        if isinstance(problem, UnreachableError):
            raise problem
        raise UnreachableError(f"there are no credentials: {_problem(problem)}") from problem
    return answers[0]


def _problem(error: object) -> str:
    return " ".join(str(error).split())[:_MAX_PROBLEM]


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What is logged meanwhile, in place of lines in the middle of the output."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(_problem(record.getMessage()))  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield said
    finally:
        root.removeHandler(handler)
