"""The DRA CPU driver (vectors/nri, files `dra-*`) against the port `cpuplan.dra`."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cpuplan.dra.config import Config, resolve
from cpuplan.dra.devices import build, shared_pool, slices
from cpuplan.dra.errors import DraError
from cpuplan.dra.topology import Topology, discover
from cpuplan.kubelet.bits import to_text
from tests.conformance.nri import VECTORS, machines
from tests.conformance.operations import run_lines

Json = dict[str, Any]


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) of each case."""
    yield from run_lines(paths, VECTORS, KINDS, "dra-*")


@cache
def _topology(machine: str) -> Topology:
    return discover(machines()[machine])


def _config(given: Json) -> Config:
    """The configuration of a machine's case: the file as YAML, which is JSON here."""
    return resolve(yaml.safe_dump(given["config"]))


def _resolve(given: Json) -> Json:
    """The effective configuration, printed as the driver prints it."""
    try:
        config = resolve(given["file"], given["flags"])
    except DraError as error:
        return {"error": str(error)}
    return {"config": _printed(config)}


def _printed(config: Config) -> str:
    """Keys in order. Go quotes letters too that some readers take for yes and no."""
    fields = sorted(config.fields().items())
    return "".join(f"{name}: {_scalar(value)}\n" for name, value in fields)


def _scalar(value: str | bool) -> str:
    if value in ("y", "Y", "n", "N"):
        return f'"{value}"'
    text: str = yaml.safe_dump(value, width=1 << 20)
    return text.removesuffix("\n").removesuffix("\n...").replace("'", '"')


def _discover(given: Json) -> Json:
    known = _topology(given["machine"])
    return {
        "cpus": [list(cpu) for cpu in known.cpus.values()],
        "numCPUs": known.num_cpus,
        "numCores": known.num_cores,
        "numNUMANodes": known.num_numa_nodes,
        "numSockets": known.num_sockets,
        "numUncoreCaches": known.num_uncore_caches,
        "smtEnabled": known.smt_enabled,
    }


def _devices(given: Json) -> Json:
    known, config = _topology(given["machine"]), _config(given)
    parts = slices(build(known, config), config)
    return {
        "slices": [[device.fields() for device in part] for part in parts],
        "shared": to_text(shared_pool(known, config)),
    }


KINDS: dict[str, Callable[[Json], Json]] = {
    "dra-config": _resolve,
    "dra-topology": _discover,
    "dra-devices": _devices,
}
