"""The machine config operator: what it renders for a pool, and whether its nodes have it.

Only what compiled objects determine is compared: the operator and others add arguments, files and
units of their own.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.cluster.equality import first_difference, is_alike, is_program, says_the_same
from cpuplan.check.cluster.live_objects import Absent, Place, Subject
from cpuplan.check.subject import shown
from cpuplan.components import cmdline, kernel, kubelet
from cpuplan.components.derived import RENDERED
from cpuplan.components.openshift import machineconfig
from cpuplan.components.openshift import pool as pools
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Field
from cpuplan.facts.settings.kubelet import SYSTEM_RESERVED
from cpuplan.facts.settings.openshift import KERNEL_TYPE
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.simulate.files.objects import Object
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.ignition.url import contents
from cpuplan.upstream.mco.kubelet_config_controller import KUBELET_CONF, NODE_SIZING

_CONFIG: Field = ("spec", "config")
_NOTHING = "nothing"
#: What the operator moves from the kubelet's file to another one, and the variables there.
_MOVED = {
    f"{SYSTEM_RESERVED.head}.memory": "SYSTEM_RESERVED_MEMORY",
    f"{SYSTEM_RESERVED.head}.cpu": "SYSTEM_RESERVED_CPU",
    f"{SYSTEM_RESERVED.head}.ephemeral-storage": "SYSTEM_RESERVED_ES",
}


def rendered(subject: Subject, name: str) -> Iterator[Answer]:
    """CP891 for each part of the rendered MachineConfig `name` that is not as it was compiled."""
    expected = subject.expected.facts.get(RENDERED)
    if not isinstance(expected, dict):
        return
    config = subject.objects.find("MachineConfig", name) if name else Absent("no name is known")
    if isinstance(config, Absent):
        yield _missing(subject, name, config)
        return
    yield from _Parts(subject, config, expected).answers()


def _missing(subject: Subject, name: str, absent: Absent) -> Answer:
    """CP892 for one that is wanted and not there: nothing of it can be on a node."""
    fact = "rendered MachineConfig"
    if absent.is_unknown:
        return subject.unverifiable(fact, absent.reason)
    return subject.differs(
        fact,
        "CP892",
        None,
        observed="nothing",
        expected=name,
        because=subject.because(machineconfig.NAME),
        heals=Heals.REBOOT,
        what=f"MachineConfig {name}",
        problem=absent.reason,
    )


class _Parts:
    """A rendered MachineConfig and what is expected of it."""

    def __init__(self, subject: Subject, rendered: Object, expected: Mapping[str, Any]) -> None:
        self.subject = subject
        self.rendered = rendered
        self.expected = expected
        config = value_of(rendered.data, _CONFIG)
        self.config: Mapping[str, Any] = config if isinstance(config, Mapping) else {}

    def answers(self) -> Iterator[Answer]:
        """One for each part."""
        yield self._kernel_type()
        yield from self._arguments()
        try:
            texts = {path: data.decode("utf-8", "replace") for path, data in self._contents()}
        except (McoError, AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"its files cannot be read: {error}"
            yield self.subject.unverifiable("rendered files", reason, self.rendered)
            return
        yield from self._files(texts)
        yield from self._units()
        yield from self._kubelet(texts)

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        yield from contents(dict(self.config)).items()

    def _kernel_type(self) -> Answer:
        wanted = str(self.expected[KERNEL_TYPE.key])
        known = value_of(self.rendered.data, ("spec", KERNEL_TYPE.key)) or "default"
        because = self.subject.because(machineconfig.NAME, machineconfig.KERNEL_TYPE)
        return self._compare(
            KERNEL_TYPE.key, ("spec", KERNEL_TYPE.key), str(known), wanted, because
        )

    def _arguments(self) -> Iterator[Answer]:
        listed = value_of(self.rendered.data, ("spec", "kernelArguments"))
        words = map(str, listed if isinstance(listed, list) else ())
        known = cmdline.keyed(" ".join(words))
        for key, value in cmdline.keyed(" ".join(self.expected["kernelArguments"])).items():
            wanted = " ".join(cmdline.words(key, value))
            is_there = key in known
            observed = " ".join(cmdline.words(key, known[key])) if is_there else _NOTHING
            if is_there and known[key] == value:
                observed = wanted
            because = self.subject.because(kernel.NAME, key)
            field = ("spec", "kernelArguments")
            yield self._compare(f"argument {key}", field, observed, wanted, because)

    def _files(self, texts: Mapping[str, str]) -> Iterator[Answer]:
        entries = _named(self.config, ("storage", "files"), "path")
        for path, mode in self.expected["files"].items():
            file = self.subject.expected.files.get(path)
            fact = f"file {path}"
            if path not in entries:
                yield self._compare(fact, _CONFIG, _NOTHING, "the compiled file")
                continue
            index, entry = entries[path]
            field = (*_CONFIG, "storage", "files", index)
            given = entry.get("mode")  # null is as good as none
            observed = f"mode {mode if given is None else given:04o}"
            wanted = f"mode {mode:04o}"
            if path not in texts:
                observed, wanted = "fetched from elsewhere", "the compiled file"
            elif file and not _says(path, texts[path], file.text):
                observed, wanted = first_difference(texts[path], file.text)
            yield self._compare(fact, field, observed, wanted)

    def _units(self) -> Iterator[Answer]:
        entries = _named(self.config, ("systemd", "units"), "name")
        for name, is_enabled in self.expected["units"].items():
            index, entry = entries.get(name, (0, None))
            field = (*_CONFIG, "systemd", "units", index) if entry else _CONFIG
            file = self.subject.expected.files.get(f"{UNIT_FOLDER}/{name}")
            observed, wanted = _unit(entry, file.text if file else "", is_enabled=is_enabled)
            yield self._compare(f"unit {name}", field, observed, wanted)

    def _kubelet(self, texts: Mapping[str, str]) -> Iterator[Answer]:
        if KUBELET_CONF not in texts:
            reason = f"it has no {KUBELET_CONF}"
            yield self.subject.unverifiable("rendered KubeletConfiguration", reason, self.rendered)
            return
        try:
            known = kubelet.parse(texts[KUBELET_CONF])
        except ValueError as error:
            yield self._compare(KUBELET_CONF, _CONFIG, f"no YAML: {error}", "a configuration")
            return
        sizes = dict(
            line.split("=", 1) for line in texts.get(NODE_SIZING, "").split() if "=" in line
        )
        known = {**{key: sizes[name] for key, name in _MOVED.items() if name in sizes}, **known}
        for setting in self.subject.expected.settings.of(kubelet.NAME):
            value = known.get(setting.key)
            alike = value is not None and is_alike(value, setting.value)
            observed = _NOTHING if value is None else shown(value)
            wanted = shown(setting.value)
            fact = f"KubeletConfiguration {setting.key}"
            observed = wanted if alike else observed
            yield self._compare(fact, _CONFIG, observed, wanted, setting.reasons)

    def _compare(
        self,
        part: str,
        field: Field,
        observed: str,
        wanted: str,
        because: tuple[Reason, ...] = (),
    ) -> Answer:
        fact = f"rendered {part}"
        if observed == wanted:
            return self.subject.held(fact, self.rendered, wanted)
        return self.subject.differs(
            fact,
            "CP891",
            (self.rendered, field),
            observed=observed,
            expected=wanted,
            because=because or self.subject.because(machineconfig.NAME),
            name=self.rendered.name,
            part=part,
        )


def _named(
    config: Mapping[str, Any], field: Field, key: str
) -> dict[str, tuple[int, Mapping[str, Any]]]:
    """The items of a list by name, each with its index."""
    listed = value_of(config, field)
    items = enumerate(listed if isinstance(listed, list) else ())
    return {str(item.get(key)): (at, item) for at, item in items if isinstance(item, dict)}


def _says(path: str, actual: str, wanted: str) -> bool:
    """Programs are the operator's own text, or were compared as files of the node."""
    return is_program(path) or says_the_same(path, actual, wanted)


def _unit(entry: Mapping[str, Any] | None, text: str, *, is_enabled: bool) -> tuple[str, str]:
    """What is seen of a unit, and what should be."""
    if entry is None:
        return _NOTHING, "the compiled unit"
    if entry.get("mask"):
        return "masked", "the compiled unit"
    own = str(entry.get("contents") or "")
    if text and not says_the_same("", own, text):
        return first_difference(own, text)
    states = {True: "enabled", False: "not enabled"}
    return states[bool(entry.get("enabled"))], states[is_enabled]


_PREFIX = "machineconfiguration.openshift.io/"
CURRENT, DESIRED = f"{_PREFIX}currentConfig", f"{_PREFIX}desiredConfig"
STATE, REASON = f"{_PREFIX}state", f"{_PREFIX}reason"
_DONE, _DEGRADED = "Done", "Degraded"
#: Conditions of a pool that keep its nodes from what is rendered.
_BROKEN = ("RenderDegraded", "NodeDegraded", "Degraded")
_CONFIGURATION: Field = ("spec", "configuration")


def configuration(subject: Subject) -> Iterator[Answer]:
    """CP892 for a pool or node that has not arrived; then what its rendered object has (CP891).

    Compared is what the pool renders now, since a node on its way will get that; without the pool,
    what the node has.
    """
    expected = subject.expected.facts.get(RENDERED)
    if not isinstance(expected, dict):
        return
    pool = subject.objects.find("MachineConfigPool", str(expected["pool"]))
    node = subject.objects.find("Node", subject.node)
    of_pool = _pool(subject, pool, str(expected["pool"]))
    yield of_pool
    yield _node(subject, node, pool, of_pool)
    missing = _not_taken(subject, pool, expected)
    if missing:
        yield missing
        return
    yield from rendered(subject, _target(pool) or _annotation(node, CURRENT))


def _target(pool: Object | Absent) -> str:
    """The rendered MachineConfig that a pool wants on its nodes."""
    if isinstance(pool, Absent):
        return ""
    return str(value_of(pool.data, (*_CONFIGURATION, "name")) or "")


def _annotation(node: Object | Absent, key: str) -> str:
    return "" if isinstance(node, Absent) else node.annotations.get(key, "")


def _pool(subject: Subject, pool: Object | Absent, name: str) -> Answer:
    fact = f"pool {name}"
    if isinstance(pool, Absent) and pool.is_unknown:
        return subject.unverifiable(fact, pool.reason)
    problem = pool.reason if isinstance(pool, Absent) else pool_problem(pool)
    known_pool = None if isinstance(pool, Absent) else pool
    return _answer(subject, fact, known_pool, (), f"MachineConfigPool {name}", problem)


def pool_problem(pool: Object) -> str:
    """Why a pool has not brought its nodes to what it renders; empty if it has."""
    conditions = conditions_of(pool)
    for kind, status, message in conditions:
        if kind in _BROKEN and status == "True":
            return f"{kind}: {message}" if message else kind
    generation = value_of(pool.data, ("metadata", "generation"))
    observed = value_of(pool.data, ("status", "observedGeneration"))
    if isinstance(generation, int) and isinstance(observed, int) and observed < generation:
        return "the operator has not seen its newest version"
    wanted, reached = _target(pool), value_of(pool.data, ("status", "configuration", "name"))
    is_updated = any(condition[:2] == ("Updated", "True") for condition in conditions)
    if is_updated and wanted == reached:
        return ""
    paused = value_of(pool.data, ("spec", "paused")) is True
    counts = _counts(pool)
    return f"it is paused{counts}" if paused else f"its nodes are being updated{counts}"


def _counts(pool: Object) -> str:
    status = value_of(pool.data, ("status",))
    numbers = status if isinstance(status, Mapping) else {}
    if "machineCount" not in numbers:
        return ""
    return f", {numbers.get('updatedMachineCount', 0)} of {numbers['machineCount']} are"


def conditions_of(listed_object: Object) -> list[tuple[str, str, str]]:
    """Type, status and message of each condition, in their order."""
    listed = value_of(listed_object.data, ("status", "conditions"))
    items = listed if isinstance(listed, list) else []
    return [
        (str(item.get("type")), str(item.get("status")), _line(item.get("message")))
        for item in items
        if isinstance(item, dict)
    ]


def _line(message: Any) -> str:
    return " ".join(str(message or "").split())


def _node(
    subject: Subject, node: Object | Absent, pool: Object | Absent, of_pool: Answer
) -> Answer:
    """A node that waits for its pool has the finding of the pool, which says why."""
    fact = "node configuration"
    if isinstance(node, Absent):
        return subject.unverifiable(fact, node.reason)
    if not _annotation(node, CURRENT):
        return subject.unverifiable(fact, f"the Node has no annotation {CURRENT}", node)
    is_degraded = _annotation(node, STATE) == _DEGRADED
    problem = _failure(node) if is_degraded else _way(node, _target(pool))
    field = ("metadata", "annotations", STATE if is_degraded else CURRENT)
    answer = _answer(subject, fact, node, field, f"node {subject.node}", problem)
    if of_pool.finding and problem and not is_degraded:
        return answer._replace(finding=of_pool.finding)
    return answer


def _failure(node: Object) -> str:
    reason = _line(_annotation(node, REASON))
    return f"its configuration failed: {reason}" if reason else "its configuration failed"


def _way(node: Object, target: str) -> str:
    """What a node waits for; empty for one that has arrived."""
    current, state = _annotation(node, CURRENT), _annotation(node, STATE)
    desired = _annotation(node, DESIRED) or current
    if current != desired:
        return f"it is on the way from {current} to {desired}"
    if target and current != target:
        return f"it has {current}, and its pool wants {target}"
    return f"its state is {state}" if state not in ("", _DONE) else ""


def _not_taken(
    subject: Subject, pool: Object | Absent, expected: Mapping[str, Any]
) -> Answer | None:
    """CP892 for compiled objects that the pool does not render: everything of theirs lacks."""
    if isinstance(pool, Absent):
        return None
    listed = value_of(pool.data, (*_CONFIGURATION, "source"))
    sources = listed if isinstance(listed, list) else []
    names = {str(item.get("name")) for item in sources if isinstance(item, dict)}
    missing = [name for name in expected["machineConfigs"] if name not in names]
    if not names or not missing:
        return None
    problem = f"{_target(pool)} is rendered without MachineConfig {', '.join(missing)}"
    what = f"MachineConfigPool {pool.name}"
    return _answer(
        subject, "rendered MachineConfig", pool, (*_CONFIGURATION, "source"), what, problem
    )


def _answer(
    place: Place, fact: str, observed_object: Object | None, field: Field, what: str, problem: str
) -> Answer:
    if not problem and observed_object:
        return place.held(fact, observed_object)
    because = place.because(pools.NAME) if isinstance(place, Subject) else ()
    return place.differs(
        fact,
        "CP892",
        (observed_object, field) if observed_object else None,
        observed=problem,
        expected="",
        because=because,
        heals=Heals.REBOOT,
        what=what,
        problem=problem,
    )
