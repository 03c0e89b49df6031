"""Whether runtimes take from their drop-ins what the settings say: each is read as they read it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from cpuplan.components import containerd, crio
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting, plain
from cpuplan.upstream.containerd import config as port
from cpuplan.upstream.containerd.cri_config import highest
from cpuplan.upstream.crio.config import (
    RUNTIMES,
    Loaded,
    Machine,
    RefusedError,
    decode,
    load,
    of_release,
)
from cpuplan.upstream.crio.config_keys import LATEST

_MAIN = "/etc/containerd/config.toml"


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP587 for each way in which the runtime would take its drop-in otherwise."""
    node_class = plan.node_class
    handler = plan.spec.runtime.handler
    settings = plan.settings.of(crio.NAME)
    if handler in RUNTIMES and crio.has_handler(plan):
        place = locate(node_class.place("runtime.handler"))
        problem = f"{handler} is a handler of CRI-O itself, whose table would be replaced"
        yield diagnose("CP587", place, runtime="CRI-O", problem=problem)
        return
    place = locate(node_class.place(node_class.target_field("runtime")))
    release = versions.kubernetes_version(node_class.target) or LATEST
    drop_in = plan.settings.text(crio.NAME, crio.render)
    for problem in of_crio(settings, drop_in, release):
        yield diagnose("CP587", place, runtime="CRI-O", problem=problem)
    for problem in of_containerd(plan.settings.of(containerd.NAME), plan):
        yield diagnose("CP587", place, runtime="containerd", problem=problem)


def of_crio(settings: Sequence[Setting], drop_in: str, release: versions.Version) -> Iterator[str]:
    """What a release of CRI-O would make otherwise of its drop-in."""
    if not settings:
        return
    try:
        unknown, loaded = _loaded(drop_in, release)
    except RefusedError as error:
        yield str(error)
        return
    yield from (f"it passes over {key}" for key in unknown)
    yield from (f"it leaves out {name}: {reason}" for name, reason in loaded.dropped.items())
    for setting in settings:
        wanted = plain(setting.value)
        # An empty value leaves the choice to CRI-O.
        if wanted != "" and _in_force(loaded, setting.key) != wanted:
            yield f"{setting.key} would be {_in_force(loaded, setting.key)}, not {wanted}"


@lru_cache(maxsize=64)
def _loaded(drop_in: str, release: versions.Version) -> tuple[Sequence[str], Loaded]:
    """The keys that CRI-O passes over, and what is in force; many classes have the same drop-in."""
    file = of_release(decode("", drop_in), release)
    return file.unknown, load({"": file}, Machine(release=release))


def _in_force(loaded: Loaded, key: str) -> Any:
    table, _, rest = key.partition(".")
    if table == "runtimes":
        name, _, rest = rest.partition(".")
        return loaded.handlers.get(name, {}).get(rest)
    if table == "crio":
        value: Any = loaded.nri
        for part in rest.split(".")[1:]:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value
    return loaded.runtime.get(key)


def _names(folder: str) -> list[str]:
    own, _, name = containerd.DROP_IN.rpartition("/")
    return [name] if folder == own else []


def of_containerd(settings: Sequence[Setting], plan: ConfiguredPlan) -> Iterator[str]:
    """The same of containerd, for each version that its config.toml may have."""
    if not settings:
        return
    release = containerd.release(plan.node_class.target)
    drop_in = containerd.render(settings)
    for version in range(2, highest(release) + 1):
        main = f'version = {version}\nimports = ["{containerd.IMPORT}"]\n'
        files = {_MAIN: main, containerd.DROP_IN: drop_in}
        try:
            loaded = port.load(_MAIN, release, files.get, _names)
        except port.RefusedError as error:
            yield str(error)
            continue
        values = containerd.flat(loaded.tables)
        for setting in settings:
            if values.get(setting.key) != setting.value:
                yield f"{setting.key} would be {values.get(setting.key)}, not {setting.value}"
