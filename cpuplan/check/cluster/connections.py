"""urllib3's connections, with a deadline of the whole in place of a limit for each read."""

import socket
from typing import Any

from urllib3 import PoolManager, ProxyManager
from urllib3.connection import HTTPConnection

from cpuplan.base import served


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
        scheme: _pool(pool, kind) for scheme, pool in manager.pool_classes_by_scheme.items()
    }
    return manager


def _pool(pool: type[Any], kind: type[_Timed]) -> type[Any]:
    connection: type[HTTPConnection] = pool.ConnectionCls
    made = type(connection.__name__, (kind, connection), {})
    return type(pool.__name__, (pool,), {"ConnectionCls": made})
