"""Containers as the driver knows them."""

from collections.abc import Sequence

from cpuplan.upstream.dra.driver import Container

#: A container, by its pod's uid and its name.
Key = tuple[str, str]


def id_of(key: Key) -> str:
    return "/".join(key)


def container_of(key: Key, environment: Sequence[str] = ()) -> Container:
    return Container(*key, id_of(key), tuple(environment))
