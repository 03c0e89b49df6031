"""A small project, compiled before and after a change, and what the change costs its nodes."""

import tempfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan import pipeline
from cpuplan.base.emit import to_json
from cpuplan.change.impact.rules import inputs, steps
from cpuplan.change.impact.rules.inputs import Context, changed, halves
from cpuplan.change.impact.setting_rules import rule_on
from cpuplan.change.impact.snapshot import Pair, Snapshot
from cpuplan.facts.settings.costs import Impact, Rule, Step, worst
from cpuplan.plan import ConfiguredPlan

Json = dict[str, Any]

_DATA = Path(__file__).with_name("changes.yaml")
_API = "cpuplan.io/v1alpha1"
_REGULAR = {
    "sockets": 2,
    "coresPerSocket": 4,
    "threadsPerCore": 2,
    "memoryPerNumaNode": "16Gi",
}
_HARDWARE = {
    "apiVersion": _API,
    "kind": "Hardware",
    "metadata": {"name": "small"},
    "spec": {"vendor": "GenuineIntel", "regular": _REGULAR},
}
_NODES = {
    "apiVersion": _API,
    "kind": "Nodes",
    "metadata": {"name": "lab"},
    "spec": {"cluster": "lab", "hardware": "small", "nodes": [{"name": "n1"}]},
}


class Row(NamedTuple):
    """A row of the table: a change, what it costs, and by which rules."""

    change: str
    target: str
    #: What differs from the target's intent: `spec`, `name`, and `cluster`; null without an intent.
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    impact: str
    rules: tuple[str, ...]
    certain: bool = True

    @property
    def id(self) -> str:
        """Its name among the tests."""
        return f"{self.target}: {self.change}"


class Outcome(NamedTuple):
    """What a change makes, and the components whose settings it changes."""

    steps: tuple[Step, ...]
    components: frozenset[str]

    @property
    def impact(self) -> Impact:
        """The worst of the steps."""
        return worst(self.steps)

    @property
    def is_certain(self) -> bool:
        """Whether a rule that is known for sure has that impact."""
        worth = self.impact
        return not self.steps or any(step.is_certain for step in self.steps if step.impact is worth)


@cache
def table() -> Mapping[str, Any]:
    """The file of targets and changes."""
    data: Mapping[str, Any] = yaml.safe_load(_DATA.read_text())
    return data


def rows() -> list[Row]:
    """The rows of the table."""
    made = []
    for target, changes in table()["changes"].items():
        for change in changes:
            entry = {"before": {}, "after": {}} | change
            entry["rules"] = tuple(entry["rules"])
            made.append(Row(target=target, **entry))
    return made


def outcome(row: Row) -> Outcome:
    """What the change of a row costs."""
    before, _ = compiled(row.target, to_json(row.before))
    after, known = compiled(row.target, to_json(row.after))
    pair = Pair(_key(before), _key(after), "lab", ("n1",))
    made = changed(*halves(pair, before, after))
    return Outcome(costs(before, after, known), frozenset(change.component for change in made))


def explained(row: Row) -> list[Rule]:
    """The rules by which `explain` tells the cost of each setting that both sides have."""
    before, _ = compiled(row.target, to_json(row.before))
    after, _ = compiled(row.target, to_json(row.after))
    plan = planned(row.target, to_json(row.after))
    made = changed(*halves(Pair(_key(before), _key(after), "lab", ("n1",)), before, after))
    both = {
        (change.component, change.key)
        for change in made
        if None not in (change.before, change.after)
    }
    if plan is None:
        return []
    settings = (setting for setting in plan.settings if (setting.component, setting.key) in both)
    rules = (rule_on(plan.node_class.platform, plan.settings, setting) for setting in settings)
    return [rule for rule in rules if rule]


def _key(side: Snapshot) -> tuple[str, str] | None:
    return side.by_node.get(("lab", "n1"))


@cache
def compiled(target: str, patch: str) -> tuple[Snapshot, Context]:
    """The compiled files of an intent for a target, with a patch over it."""
    given = yaml.safe_load(patch)
    if given is None:
        return Snapshot({}), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, documents in _documents(target, given).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(yaml.safe_dump_all(documents))
        project = pipeline.load(folder)
        made = pipeline.compile_project(project)
        problems = [
            finding.message for finding in made.diagnostics if finding.severity.value == "error"
        ]
        assert not problems, (target, given, problems)
        _PLANS[target, patch] = made.plan.nodes[0] if made.plan.nodes else None
        return Snapshot(made.files), inputs.context_of(project.classes)


#: The plan of node n1 of each compilation.
_PLANS: dict[tuple[str, str], ConfiguredPlan | None] = {}


def planned(target: str, patch: str) -> ConfiguredPlan | None:
    """The plan of node n1; none without an intent."""
    compiled(target, patch)
    return _PLANS.get((target, patch))


def edited(side: Snapshot, end: str, change: Callable[[Json], object]) -> Snapshot:
    """A side whose file with this end is changed by hand; YAML and JSON."""
    path = next(path for path in sorted(side.files) if path.endswith(end))
    data = yaml.safe_load(side.files[path])
    change(data)
    return Snapshot({**side.files, path: to_json(data).encode()})


def costs(before: Snapshot, after: Snapshot, known: Context | None = None) -> tuple[Step, ...]:
    """What it costs node n1 that one side follows another."""
    return tuple(steps(Pair(_key(before), _key(after), "lab", ("n1",)), before, after, known))


def _documents(target: str, given: Json) -> dict[str, list[Json]]:
    base = table()["targets"][given.get("target", target)]
    spec = merged({"selector": {"clusters": ["lab"]}, **deepcopy(base)}, given.get("spec") or {})
    metadata = {"name": given.get("name", "main")}
    intent = {"apiVersion": _API, "kind": "Intent", "metadata": metadata, "spec": spec}
    nodes = [_HARDWARE, _NODES]
    if "cluster" in given:
        facts = {"metadata": {"name": "lab"}, "spec": given["cluster"]}
        nodes.append({"apiVersion": _API, "kind": "Cluster", **facts})
    return {"inventories/lab.yaml": nodes, "intents/main.yaml": [intent]}


def merged(base: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396); of the targets, the first is merged."""
    if not isinstance(patch, dict):
        return patch
    made = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if key == "target" and "targets" in made:
            made["targets"] = [merged(made["targets"][0], value)]
        elif value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def platform_of(row: Row) -> str:
    """The platform of a row's target."""
    return str(table()["targets"][row.target]["targets"][0]["platform"])
