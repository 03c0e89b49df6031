"""Files are read again before they are written, and checked against schemas."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cpuplan import backends, pipeline
from cpuplan.base.emit import to_yaml
from cpuplan.components import runtimeclass
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.upstream.kubelet.config import types as kubelet_schema
from cpuplan.write import emitted
from cpuplan.write.emitted import Reader, Written
from tests import named_cases
from tests.machines.plans import plan, regular
from tests.projects import REPOSITORY, make_project, run_in
from tests.unit.components.test_components import PLANS

SCHEMAS = sorted((REPOSITORY / "schemas/emitted").glob("*.schema.json"))
DELIVERY = DeliverySpec(repository="https://git.example.com/a.git")
FULL: dict[str, Any] = {
    "runtime": {"sharedNamespaces": ["ran"]},
    "hugePages": {"defaultSize": "1G", "pages": [{"size": "1G", "count": 2}]},
    "net": {"userLevelNetworking": True, "devices": [{"interfaceName": "ens*"}]},
    "hardwareTuning": {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000},
    "kubelet": {"topologyManagerPolicy": "restricted", "configuration": {"maxPods": 500}},
}
OURS: dict[str, ConfiguredPlan] = {
    "mco": plan(regular(cores=8), shared="2", target={"cpuPartitioning": True}, spec=FULL),
    "profile": plan(regular(cores=8), shared="2", target={"mode": "performanceProfile"}, spec=FULL),
    "profile of 4.14": plan(target={"mode": "performanceProfile"}, version="4.14"),
    "hosted": plan(target={"mode": "performanceProfile", "controlPlaneTopology": "External"}),
    "kubernetes": plan(
        regular(cores=8),
        shared="2",
        platform="kubernetes",
        version="1.36",
        spec={"runtime": FULL["runtime"]},
    ),
    "koordinator": plan(
        regular(cores=8, threads=2),
        reserved="0,8",
        platform="kubernetes",
        version="1.36",
        target={"mechanism": "koordinator"},
        spec={
            "koordinator": {
                "numaAllocateStrategy": "MostAllocated",
                "cpuSuppressThresholdPercent": 60,
                "cpuAmplificationRatio": "1.5",
                "scheduler": {"scoringStrategy": {"type": "MostAllocated"}},
                "workloads": [
                    {
                        "name": "web",
                        "matchLabels": {"app": "web"},
                        "qosClass": "LSR",
                        "preferredCPUBindPolicy": "SpreadByPCPUs",
                    }
                ],
            }
        },
    ),
    "split": plan(target={"mixedHardware": "split"}),
}


def tree(node: ConfiguredPlan) -> dict[str, bytes]:
    return backends.tree(Plan((node,)), DELIVERY)


@pytest.mark.parametrize("node", [*PLANS.values(), *OURS.values()], ids=[*PLANS, *OURS])
def test_what_is_written_fits(node: ConfiguredPlan) -> None:
    assert [finding.message for finding in emitted.check(tree(node))] == []


@pytest.mark.parametrize("name", named_cases.CASES)
def test_what_is_written_for_the_cases_fits(name: str) -> None:
    assert [finding.message for finding in emitted.check(named_cases.compiled(name).files)] == []


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_schemas_know_every_field(path: Path) -> None:
    schema = json.loads(path.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator.check_schema(kubelet_schema.schema())
    for part in objects(schema):
        assert "additionalProperties" in part or "properties" not in part


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def ways(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value of a document but the whole."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*way, key)
        yield from ways(inner, (*way, key))


def changed(value: Any, way: tuple[str | int, ...], key: str | None) -> Any:
    """A copy with a value of another type at the end of the way, or with a further `key` there."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for part in way[:-1]:
        inner = inner[part]
    if key is None:
        inner[way[-1]] = [[7]]
    else:
        inner[way[-1]][key] = "x"
    return copy


@pytest.mark.parametrize("node", OURS.values(), ids=OURS)
def test_a_wrong_type_anywhere_is_found(node: ConfiguredPlan) -> None:
    """A wrong type in any value of any object is found, and a field that no schema has."""
    tried = 0
    for path, data in tree(node).items():
        if not path.endswith((".yaml", "kubelet.conf.d/90-cpuplan.conf")):
            continue
        document = yaml.safe_load(data)
        for way in ways(document):
            wrong = to_yaml(changed(document, way, None)).encode()
            findings = emitted.check({path: wrong})
            assert {finding.code for finding in findings} == {"CP570"}, (path, way)
            assert any(path in finding.message for finding in findings)
            tried += 1
        for way in (("spec",), ("metadata",)):
            if isinstance(document.get(way[0]), dict):
                wrong = to_yaml(changed(document, way, "unheardOf")).encode()
                assert [
                    finding
                    for finding in emitted.check({path: wrong})
                    if "unheardOf" in finding.message
                ], (path, way)
    assert tried > 50


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("clusters/a/manifests/x.yaml", "a: [", "cannot be read"),
        ("clusters/a/manifests/x.yaml", "- a", "it has no kind"),
        ("clusters/a/manifests/x.yaml", "kind: Secret", "without a schema: Secret"),
        ("clusters/a/cluster.json", "{", "cannot be read"),
        ("clusters/a/cluster.json", "{}", "'name' is a required property"),
        ("nodes/a/b/etc/crio/crio.conf.d/99-zz-cpuplan.conf", "[crio", "cannot be read"),
        (
            "nodes/a/b/etc/crio/crio.conf.d/x",
            "[crio.runtime]\ninfra_ctr_cpuset = 1\n",
            "at $.crio.runtime.infra_ctr_cpuset",
        ),
        (
            "nodes/a/b/etc/crio/crio.conf.d/x",
            "[crio.runtime]\nshared_cpu_set = '1'\n",
            "shared_cpu_set",
        ),
        (
            "nodes/a/b/etc/kubernetes/kubelet.conf.d/x",
            "kind: KubeletConfiguration\nmaxPod: 1\n",
            "maxPod",
        ),
        (
            "nodes/a/b/etc/crio/crio.conf.d/x",
            '[crio.runtime]\nshared_cpuset = "1\\n"\n',
            "shared_cpuset",
        ),
        (".cpuplan/classes/a/b.json", "[]", "is not of type 'object'"),
        ("nodes/a/b/etc/tuned/cpuplan/tuned.conf", "[cpus]\na=b\n", "'cpus' does not match"),
        ("nodes/a/b/etc/tuned/cpuplan/tuned.conf", "a=b\n", "line 1 has another form: a=b"),
        ("nodes/a/b/etc/tuned/recommend.d/00-cpuplan.conf", "[other]\n", "other"),
        ("nodes/a/b/etc/sysctl.d/99-a.conf", "vm.swappiness 10\n", "line 1 has another form"),
        ("nodes/a/b/etc/sysctl.d/99-a.conf", "vm.a = 1\nvm.a = 2\n", "line 2 has another form"),
        ("nodes/a/b/etc/sysctl.d/99-a.conf", "vm.a = 1", "the last line has no end"),
        ("nodes/a/b/etc/sysctl.d/99-a.conf", "swappiness = 1\n", "does not match"),
        ("nodes/a/b/etc/tmpfiles.d/a.conf", "w /sys/a - - - - 1\n", "/sys/a"),
        ("nodes/a/b/etc/tmpfiles.d/a.conf", "d /run/a 0755\n", "line 1 has another form"),
        ("nodes/a/b/etc/udev/rules.d/a.rules", 'ACTION="add", RUN+="sh"\n', "ACTION="),
        ("nodes/a/b/etc/udev/rules.d/a.rules", "ACTION==add\n", "line 1 has another form"),
        (
            "nodes/a/b/etc/cpuplan/irqbalance",
            "IRQBALANCE_BANNED_CPUS=0\n",
            "IRQBALANCE_BANNED_CPUS",
        ),
        ("nodes/a/b/etc/systemd/system/a.service", "[Unit]\nBefor=a.service\n", "Befor"),
        ("nodes/a/b/etc/systemd/system/a.service", "[Unit]\nAfter=a\n", "does not match"),
        (
            "nodes/a/b/etc/systemd/system/kubepods.slice.d/a.conf",
            "[Slice]\nAllowedCPUs=0 1\n",
            "does not match",
        ),
    ],
)
def test_what_nobody_could_read(path: str, text: str, words: str) -> None:
    assert any(words in finding.message for finding in emitted.check({path: text.encode()}))


@pytest.mark.parametrize(
    "text", ["name: 1e3", "name: 0x1f", "name: off", "name: 2026-01-01", "name: a: b", "name:  a"]
)
def test_a_file_is_read_as_what_it_was_made_from(text: str) -> None:
    """Text that loses its quotes is a number, a date or nothing to some reader."""
    lines = "apiVersion: v1\nkind: Namespace\nmetadata:\n  annotations: {}\n  name: a\n"
    assert emitted.check({"clusters/a/manifests/n.yaml": lines.encode()}) == []
    wrong = emitted.check({"clusters/a/manifests/n.yaml": lines.replace("name: a", text).encode()})
    assert {finding.code for finding in wrong} == {"CP570"}


def test_what_a_machine_config_carries_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from cpuplan.components.emission import by_default

    def words(of: Any, row: Any, value: Any, *because: Any) -> Any:
        return by_default(of, row, "four" if value == 4 else value, *because)

    monkeypatch.setattr("cpuplan.components.crio.by_default", words)
    pinned = plan(regular(cores=8), shared="2", target={"cpuPartitioning": True}, spec=FULL)
    findings = emitted.check(tree(pinned))
    assert any("/etc/crio/crio.conf.d/99-runtimes.conf" in finding.message for finding in findings)


def test_equal_files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    read = emitted._read_again

    def counted(reader: Reader, data: bytes) -> Iterator[tuple[str, str]]:
        nonlocal count
        count += 1
        return read(reader, data)

    monkeypatch.setattr(emitted, "_read_again", counted)
    nodes = {
        f"clusters/{cluster}/manifests/n-{number}.yaml": f"kind: X\nname: n-{number}\n".encode()
        for number in range(9)
        for cluster in "ab"
    }
    emitted.check(nodes)
    assert count == 1


@pytest.mark.parametrize("arguments", [["compile"], ["compile", "--check"]])
def test_nothing_wrong_is_written(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A component writes a number where RuntimeClass has text: CP570 names object and field."""
    project = make_project(tmp_path / "project", REPOSITORY / "tests/cases/telco-du")
    (project / "intents/plan.lock.yaml").unlink(missing_ok=True)
    document = runtimeclass.document
    wrong = {"handler": 4}
    monkeypatch.setattr(runtimeclass, "document", lambda settings: document(settings) | wrong)
    code, _, err = run_in(project, arguments, capsys)
    assert code == 70
    assert "error[CP570]" in err
    assert "runtimeclass-telco-du.yaml at $.handler" in err
    assert not (project / "out").exists()
    assert not (project / "intents/plan.lock.yaml").exists()


def test_jsonschema_is_loaded_only_to_explain_a_mistake(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    code = (
        "import sys; from cpuplan.cli.main import run\n"
        "code = run(['-C', sys.argv[1], 'compile'])\n"
        "print(code, 'jsonschema' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, project], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "False"]


def test_the_record_of_the_sample_is_whole() -> None:
    compiled = pipeline.compile_project(pipeline.load(REPOSITORY))
    assert emitted.check(compiled.files) == []
    assert "openshift" in {node.node_class.target.platform for node in compiled.plan.nodes}


def test_entries_of_two_kinds_or_of_one_key_are_read_as_a_whole() -> None:
    """One that is not as cpuplan writes it makes the others so."""
    first, second = Written({"a": 1}, True), Written({"b": 2}, False)
    assert emitted._joined([first, second]) == Written({"a": 1, "b": 2}, False)
    assert emitted._joined([Written([1], True), Written([2, 3], True)]) == Written([1, 2, 3], True)
    for entries in (
        [first, first],
        [first, Written([1], True)],
        [Written([1], True), first],
        [Written("a", True), first],
    ):
        assert emitted._joined(entries) is None


@pytest.mark.parametrize(("length", "is_whole"), [(1, True), (199, True), (200, False)])
def test_a_long_problem_names_its_keyword_only(length: int, is_whole: bool) -> None:
    text = "'{}' was expected"
    wanted = "x" * max(length - len(text.format("")), 1)
    [(at, problem)] = emitted._violations({"a": 1}, {"properties": {"a": {"const": wanted}}}, "it")
    assert at == "it.a"
    assert problem == (text.format(wanted) if is_whole else "breaks const")
