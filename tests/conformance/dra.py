"""The DRA CPU driver (vectors/nri, files `dra-*`) against the port `cpuplan.upstream.dra`."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cpuplan.upstream.dra import opaque_config
from cpuplan.upstream.dra.api import DRIVER, DraError
from cpuplan.upstream.dra.builder import Device, build, shared_pool, slices
from cpuplan.upstream.dra.cpuinfo import Topology, discover
from cpuplan.upstream.dra.driver import Claim, Container, Driver, Result
from cpuplan.upstream.dra.driverconfig import Config, resolve
from cpuplan.upstream.kubernetes.bits import to_text
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
        "slices": [_fields(part) for part in parts],
        "shared": to_text(shared_pool(known, config)),
    }


def _fields(devices: Iterable[Device]) -> list[Json]:
    return [device.fields() for device in devices]


def _allocate(given: Json) -> Json:
    driver = Driver(_topology(given["machine"]), _config(given))
    return {"steps": [_step(driver, step) for step in given["steps"]]}


def _step(driver: Driver, step: Json) -> Json:
    try:
        outcome = _STEPS[step["do"]](driver, step)
    except DraError as error:
        outcome = {"error": str(error)}
    store = driver.store
    return {**outcome, "prepared": to_text(store.prepared), "shared": to_text(store.shared)}


def _prepare(driver: Driver, step: Json) -> Json:
    results = tuple(
        Result(row["request"], row["device"], row.get("cpus"), row.get("driver", DRIVER))
        for row in step.get("results", ())
    )
    configs = tuple(
        opaque_config.Config(
            tuple(row.get("requests", ())),
            row["parameters"],
            row.get("source", opaque_config.FROM_CLAIM),
            row.get("driver", DRIVER),
        )
        for row in step.get("config", ())
    )
    allocated = None if step.get("unallocated") else results
    prepared = driver.prepare(Claim(_uid(step["claim"]), step["claim"], allocated, configs))
    cpus = None if prepared.cpus is None else to_text(prepared.cpus)
    return {"cpus": cpus, "devices": prepared.devices}


def _uid(claim: str) -> str:
    return f"uid-{claim}"


def _unprepare(driver: Driver, step: Json) -> Json:
    driver.unprepare(_uid(step["claim"]))
    return {}


def _create(driver: Driver, step: Json) -> Json:
    created = driver.create(_container(driver, step))
    updates = {name: to_text(cpus) for name, cpus in created.updates.items()}
    return {"cpuset": to_text(created.cpus), "updates": updates}


def _container(driver: Driver, step: Json) -> Container:
    claims = driver.environment(map(_uid, step.get("claims", ())))
    name = f"{step['pod']}/{step['container']}"
    return Container(step["pod"], step["container"], name, (*claims, *step.get("env", ())))


def _stop(driver: Driver, step: Json) -> Json:
    driver.forget(_container(driver, step))
    return {"updates": {}}


def _remove(driver: Driver, step: Json) -> Json:
    driver.forget(_container(driver, step))
    return {}


_STEPS: dict[str, Callable[[Driver, Json], Json]] = {
    "prepare": _prepare,
    "unprepare": _unprepare,
    "create": _create,
    "stop": _stop,
    "remove": _remove,
}


KINDS: dict[str, Callable[[Json], Json]] = {
    "dra-config": _resolve,
    "dra-topology": _discover,
    "dra-devices": _devices,
    "dra-allocate": _allocate,
}
