"""What a container runtime cannot do of what an intent asks, and what it takes from its drop-in.

Each drop-in is read as its runtime reads it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from cpuplan.components import chosen, containerd, crio, mixedcpus
from cpuplan.components.crio import PLUGINS
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting, plain
from cpuplan.upstream.containerd import config as port
from cpuplan.upstream.containerd.cri_config import OLD_CRI, highest
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

#: The first release with CDI.
_CDI = (1, 7)
_CRIO = "use runtime crio"


def check_containerd(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP527 for each statement that it cannot keep; else CP528, CP529 and CP586."""
    node_class = plan.node_class
    target = node_class.target
    if target.runtime != containerd.NAME or node_class.platform.has_pools:
        return
    wrong = [
        diagnose("CP527", locate(node_class.place(field)), field=field, problem=text, hint=hint)
        for field, text, hint in _not_done(plan)
    ]
    yield from wrong
    if wrong:
        return
    field = node_class.target_field("runtime")
    for what in _differences(plan):
        yield diagnose(
            "CP528", locate(node_class.place(field)), version=target.containerd, what=what
        )
    yield from _by_hand(plan, locate)
    if plan.settings.of(containerd.NAME):
        path, imports = containerd.DROP_IN, containerd.IMPORT
        yield diagnose("CP586", locate(node_class.place(field)), path=path, imports=imports)


def _not_done(plan: ConfiguredPlan) -> Iterator[tuple[str, str, str]]:
    """(field of the intent, what is wrong with it, what to do)."""
    target = plan.node_class.target
    release = containerd.release(target)
    if mixedcpus.are_wanted(plan):
        text = "it gives no container shared CPUs beside exclusive ones"
        hint = f"give their CPUs to another pool, set runtime.mixedCpus to false, or {_CRIO}"
        yield "pools.shared", text, hint
    if chosen.exec_affinity(plan) == "first":
        text = "exec probes run on all CPUs of their container"
        yield "runtime.execCpuAffinity", text, f"use none, or {_CRIO}"
    if target.mechanism in PLUGINS and not containerd.has_nri(target):
        field = plan.node_class.target_field("mechanism")
        yield field, f"{target.containerd} has no NRI", f"use containerd 1.7 or later, or {_CRIO}"
    if containerd.needs_cdi(plan) and release < _CDI and not target.has_dra:
        text = f"{target.containerd} has no CDI, by which DRA drivers hand out devices"
        hint = f"use containerd 1.7 or later, or {_CRIO}"
        yield "kubelet.dynamicResourceAllocation", text, hint


def _differences(plan: ConfiguredPlan) -> Iterator[str]:
    if plan.pool("reserved").cpus:
        yield "pause containers may run on all CPUs, not only on the reserved ones"
    target = plan.node_class.target
    if target.has_koordinator and not containerd.has_nri(target):
        yield "it has no NRI: koordlet sets the CPUs of containers up to 10 s after their start"
    if containerd.has_handler(plan):
        handler = plan.spec.runtime.handler
        yield f"pods of the handler {handler} have no CPU hooks: annotations *.crio.io do nothing"


def _by_hand(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP529: keys of the CRI plugin's table, which a drop-in of 1.x would replace."""
    target, handler = plan.node_class.target, plan.spec.runtime.handler
    if containerd.merges(target):
        return
    rows = (
        (
            containerd.has_handler(plan),
            "runtime.handler",
            ("runtime_type", '"io.containerd.runc.v2"', f".containerd.runtimes.{handler}"),
        ),
        (
            containerd.needs_cdi(plan),
            containerd.field_of_drivers(plan),
            ("enable_cdi", "true", ""),
        ),
    )
    for is_needed, field, (key, value, inner) in rows:
        if is_needed:
            place = locate(plan.node_class.place(field))
            yield diagnose(
                "CP529",
                place,
                version=target.containerd,
                field=field,
                key=key,
                value=value,
                table=OLD_CRI,
                inner=inner,
            )


_MAIN = "/etc/containerd/config.toml"


def check_drop_ins(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
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
