"""A connection by a kubeconfig, with the Kubernetes project's own client for Python.

It knows what kubeconfigs of today hold: certificates, tokens, files of these, programs that give
credentials, proxies. It is in the extra `cluster`, and imported here only.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any

from cpuplan.check.cluster.reading import AnswerError, Path, UnreachableError, too_large

#: Seconds until there is a connection, and until there is an answer.
_TIMEOUT = (10, 60)
#: Bytes of one answer: 500 Node objects have some 10 MB.
_MAX_BYTES = 256 * 1024**2
#: Set in every pod (k8s.io/client-go, rest.InClusterConfig).
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_MAX_PROBLEM = 300


class MissingClientError(Exception):
    """The client is not installed."""


class Client:
    """A connection to the API server of a context of a kubeconfig."""

    def __init__(self, kubeconfig: FilePath | None, context: str | None) -> None:
        """Raises MissingClientError, and UnreachableError for a kubeconfig that cannot be used."""
        try:
            self._kubernetes = import_module("kubernetes.client")
            config = import_module("kubernetes.config")
        except ImportError as error:
            raise MissingClientError(str(error)) from error
        with _heard() as said:
            settings = _configuration(self._kubernetes, config, kubeconfig, context)
        #: Programs that give credentials, and fail: without any, the API refuses the user.
        self._said = "; ".join(said)
        self.server = str(settings.host)
        api = self._kubernetes.ApiClient(settings)
        self._core = self._kubernetes.CoreV1Api(api)
        self._any = self._kubernetes.CustomObjectsApi(api)

    def get(self, path: Path, name: str) -> Mapping[str, Any]:
        """One object."""
        kind = path.kind
        if not kind.group:
            call = getattr(self._core, _CORE[kind.plural][0])
            names = (name, path.namespace) if kind.is_namespaced else (name,)
            return self._ask(lambda: call(*names, **_RAW))
        group = (kind.group, path.version)
        if kind.is_namespaced:
            call = self._any.get_namespaced_custom_object
            return self._ask(lambda: call(*group, path.namespace, kind.plural, name, **_RAW))
        call = self._any.get_cluster_custom_object
        return self._ask(lambda: call(*group, kind.plural, name, **_RAW))

    def page(self, path: Path, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """One page of objects, of all namespaces."""
        kind = path.kind
        if not kind.group:
            call = getattr(self._core, _CORE[kind.plural][1])
            return self._ask(lambda: call(**query, **_RAW))
        call = self._any.list_cluster_custom_object
        return self._ask(lambda: call(kind.group, path.version, kind.plural, **query, **_RAW))

    def _ask(self, call: Callable[[], Any]) -> Mapping[str, Any]:
        from urllib3.exceptions import HTTPError

        try:
            with _heard():  # urllib3 tells of each attempt
                response = call()
                text = response.read(_MAX_BYTES + 1)
        except self._kubernetes.ApiException as error:
            raise self._refusal(error) from error
        except (HTTPError, OSError, ValueError) as error:
            raise UnreachableError(_problem(error)) from error
        response.release_conn()
        return _parsed(text)

    def _refusal(self, error: Any) -> Exception:
        if not error.status:  # no answer: TLS
            return UnreachableError(_problem(error.reason))
        body = error.body
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
        if error.status in (401, 403) and self._said:
            return UnreachableError(f"no credentials: {self._said}")
        return AnswerError(error.status, text)


#: How the client calls what reads one object, and a list, of the core's kinds.
_CORE = {
    "nodes": ("read_node", "list_node"),
    "namespaces": ("read_namespace", "list_namespace"),
    "configmaps": ("read_namespaced_config_map", "list_config_map_for_all_namespaces"),
    "pods": ("read_namespaced_pod", "list_pod_for_all_namespaces"),
}
#: The answer as it comes, not as the client's models have it: these lack what is newer.
_RAW: Mapping[str, Any] = {"_preload_content": False, "_request_timeout": _TIMEOUT}


def _configuration(
    client: Any, config: Any, kubeconfig: FilePath | None, context: str | None
) -> Any:
    """The settings of a context, as kubectl would take them."""
    settings = client.Configuration()
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


def _parsed(text: bytes) -> Mapping[str, Any]:
    if len(text) > _MAX_BYTES:
        raise too_large(f"an answer has more than {_MAX_BYTES:,} bytes")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreachableError("it does not answer with JSON: it is no API server") from error
    if not isinstance(data, dict):
        raise UnreachableError("it does not answer with an object: it is no API server")
    return data


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
