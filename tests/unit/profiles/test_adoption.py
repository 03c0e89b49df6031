"""A profile that an Intent takes the place of: nodes get the same files, to the byte."""

import gzip
import json
import tomllib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.backends import configure
from cpuplan.backends.openshift import objects
from cpuplan.base.codec import Codec
from cpuplan.base.cpuset import CpuSet, CpuSetError, as_written
from cpuplan.base.emit import to_yaml
from cpuplan.components.openshift.performanceprofile import OWN_ANNOTATIONS
from cpuplan.diagnostics import Diagnostic, Severity, errors
from cpuplan.fleet import synthetic
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value
from cpuplan.profiles import loading
from tests.projects import SHARED, needs_shared, run_in

VECTORS = SHARED / "vectors/nto"
PROFILE: dict[str, Any] = {
    "apiVersion": "performance.openshift.io/v2",
    "kind": "PerformanceProfile",
    "metadata": {
        "name": "low",
        "labels": {"team": "core"},
        "annotations": {
            "argocd.argoproj.io/sync-wave": "5",
            "ran.openshift.io/ztp-deploy-wave": "10",
            "performance.openshift.io/enable-rps": "true",
            "kubectl.kubernetes.io/last-applied-configuration": "{}\n",
        },
    },
    "spec": {
        "cpu": {"reserved": "1,0,32,33", "isolated": "2-31,34-62,63"},
        "nodeSelector": {"node-role.kubernetes.io/worker-cnf": ""},
    },
}


def adopted(
    folder: Path, item: dict[str, Any], release: str = "4.20", mode: str = "performanceProfile"
) -> tuple[ConfiguredPlan | None, list[Diagnostic]]:
    """The plan of a profile's Intent on a machine that fits; None for a refused profile."""
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(item))
    documents, diagnostics = loading.read(folder, [path], lambda: release, mode)
    intents = documents.of_kind("Intent")
    if errors(diagnostics) or not intents or intents[0].spec.paused:
        return None, diagnostics
    made = synthetic.plan(
        intents[0].name, intents[0].spec, architecture="x86_64", vendor="GenuineIntel", model=106
    )
    return configure(made), diagnostics


def predicted(plan: ConfiguredPlan) -> str:
    """The objects that the operator will make."""
    return "---\n".join(to_yaml(manifest.data) for manifest in objects.predicted_manifests(plan))


def emitted(plan: ConfiguredPlan) -> dict[str, Any]:
    item: dict[str, Any] = yaml.safe_load(to_yaml(objects.performance_profile(plan)))
    return item


def drop_in(item: dict[str, Any]) -> dict[str, Any]:
    """[crio.runtime] of a MachineConfig."""
    files = {file["path"]: file for file in item["spec"]["config"]["storage"]["files"]}
    _, _, text = str(files[objects.CRIO_DROP_IN]["contents"]["source"]).partition("base64,")
    section: dict[str, Any] = tomllib.loads(b64decode(text).decode())["crio"]["runtime"]
    return section


def recorded_profiles() -> Iterator[Any]:
    """Of render, each with its name."""
    for path in sorted(VECTORS.glob("render/*/input/*.yaml")):
        try:
            documents = list(yaml.safe_load_all(path.read_text()))
        except yaml.YAMLError:
            continue
        for item in documents:
            if isinstance(item, dict) and item.get("kind") == "PerformanceProfile":
                yield pytest.param(item, id=path.parts[-3])


@needs_shared
@pytest.mark.parametrize("item", list(recorded_profiles()))
def test_a_recorded_profile_is_adopted_without_a_change(
    tmp_path: Path, item: dict[str, Any]
) -> None:
    """Its lists, labels and annotations are the same, and so is what the operator makes of it."""
    first, _ = adopted(tmp_path, item, "5.1")
    if first is None:
        pytest.skip("cpuplan refuses the profile, or the operator is paused")
    made = emitted(first)
    again, _ = adopted(tmp_path, made, "5.1")
    assert again is not None
    assert predicted(again) == predicted(first)
    assert emitted(again) == made
    for name, text in item["spec"]["cpu"].items():
        if name != "balanceIsolated" and text and is_readable(text):
            assert made["spec"]["cpu"].get(name) in (text, None if name == "shared" else text)
    metadata = item["metadata"]
    for key in ("labels", "annotations"):
        kept = {
            name: text
            for name, text in (metadata.get(key) or {}).items()
            if name not in OWN_ANNOTATIONS
        }
        assert kept.items() <= made["metadata"].get(key, {}).items()


def is_readable(text: str) -> bool:
    try:
        return bool(as_written(text))
    except CpuSetError:
        return False


def recorded_texts() -> Iterator[Any]:
    """What operators of all releases made of a profile whose lists are in no normal form."""
    for path in sorted(VECTORS.glob("releases/render/*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            for line in lines:
                if '"text-not-normal"' in line[:40]:
                    yield pytest.param(json.loads(line), id=path.name.removesuffix(".jsonl.gz"))


@needs_shared
@pytest.mark.parametrize("mode", ["mco", "performanceProfile"])
@pytest.mark.parametrize("recorded", list(recorded_texts()))
def test_lists_have_the_texts_that_the_release_gives_them(
    tmp_path: Path, recorded: dict[str, Any], mode: str
) -> None:
    cases = (VECTORS / "releases/cases.jsonl").read_text().splitlines()
    item = next(case for case in map(json.loads, cases) if case["id"] == recorded["id"])["profile"]
    plan, _ = adopted(tmp_path, item, recorded["release"], mode)
    assert plan is not None
    wanted = recorded["expected"]
    kubelet = objects.kubelet_config(plan)["spec"]["kubeletConfig"]
    key = "reservedSystemCPUs"
    assert kubelet[key] == wanted["KubeletConfig"]["kubeletConfig"][key]
    text = wanted["MachineConfig"]["files"][objects.CRIO_DROP_IN]["text"]
    config = objects.machine_config(plan)
    of_operator = tomllib.loads(text)["crio"]["runtime"]
    assert drop_in(config)["infra_ctr_cpuset"] == of_operator["infra_ctr_cpuset"]
    options = objects.tuned_object(plan)["spec"]["profile"][0]["data"].splitlines()
    profile = wanted["Tuned"]["profiles"]["openshift-node-performance-perf"]
    cores = profile["variables"]["isolated_cores"]
    assert f"isolated_cores={cores}" in [line.replace(" ", "") for line in options]
    arguments = recorded["cmdline"]["platforms"]["intel-icelake"]["cmdline"].split()
    lists = ("rcu_nocbs=", "nohz_full=", "isolcpus=")
    assert sorted(
        argument for argument in config["spec"]["kernelArguments"] if argument.startswith(lists)
    ) == sorted(argument for argument in arguments if argument.startswith(lists))


def test_labels_annotations_and_lists_are_kept(tmp_path: Path) -> None:
    plan, diagnostics = adopted(tmp_path, PROFILE)
    assert plan is not None
    assert not diagnostics
    made = emitted(plan)
    assert made["metadata"]["labels"] == {"team": "core"}
    annotations = made["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/sync-wave"] == "5"
    assert annotations["ran.openshift.io/ztp-deploy-wave"] == "10"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in annotations
    assert made["spec"]["cpu"] == PROFILE["spec"]["cpu"]


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (
            "mco",
            [
                "label team",
                "annotation argocd.argoproj.io/sync-wave",
                "annotation ran.openshift.io/ztp-deploy-wave",
            ],
        ),
        ("", []),
    ],
)
def test_what_an_import_loses_is_said_and_a_profile_in_place_loses_nothing(
    tmp_path: Path, mode: str, told: list[str]
) -> None:
    _, diagnostics = adopted(tmp_path, PROFILE, mode=mode)
    without_effect = " has no effect in mode mco, which writes no profile"
    assert [known.message for known in diagnostics] == [name + without_effect for name in told]
    assert {known.severity for known in diagnostics} <= {Severity.NOTE}


@pytest.mark.parametrize(
    ("release", "cpu", "told"),
    [
        ("4.20", {"reserved": "0,0-1", "isolated": "2-7"}, ["reserved (0,0-1) becomes 0-1"]),
        ("4.20", {"reserved": "0-1", "isolated": "2-7,7"}, []),
        ("4.15", {"reserved": "0-1", "isolated": "2-7,7"}, ["isolated (2-7,7) becomes 2-7"]),
        ("4.20", {"reserved": "00-1", "isolated": "2-7"}, []),
    ],
)
def test_a_text_that_no_intent_has_costs_a_reboot(
    tmp_path: Path, release: str, cpu: dict[str, str], told: list[str]
) -> None:
    item = {**PROFILE, "metadata": {"name": "a"}, "spec": {**PROFILE["spec"], "cpu": cpu}}
    _, diagnostics = adopted(tmp_path, item, release)
    assert [known.message.partition(":")[0] for known in diagnostics] == told


def test_a_list_is_kept_between_processes() -> None:
    codec: Codec[Value] = Codec(Value)
    values: tuple[Value, ...] = (as_written("3,1-2"), CpuSet.parse("1-3"))
    assert [str(codec.decode(codec.encode(value))) for value in values] == ["3,1-2", "1-3"]
    assert as_written("3,1-2") == CpuSet.parse("1-3")
    assert str(as_written("3,1-2") - CpuSet()) == "1-3"


ADOPT = ["import", "performanceprofile", "--release", "4.20", "--mode", "performanceProfile"]


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project with the Intent of the profile, compiled."""
    (tmp_path / "inventories").mkdir()
    (tmp_path / "inventories/nodes.yaml").write_text(
        "apiVersion: cpuplan.io/v1alpha1\nkind: Hardware\nmetadata: {name: m}\n"
        "spec: {vendor: GenuineIntel, regular: {sockets: 2, coresPerSocket: 16, "
        "threadsPerCore: 2, memoryPerNumaNode: 64Gi}}\n---\n"
        "apiVersion: cpuplan.io/v1alpha1\nkind: Nodes\nmetadata: {name: lab}\n"
        "spec: {cluster: lab, hardware: m, "
        'labels: {node-role.kubernetes.io/worker-cnf: ""}, nodes: [{name: w-0}]}\n'
    )
    (tmp_path / "before.yaml").write_text(yaml.safe_dump(PROFILE))
    assert run_in(tmp_path, [*ADOPT, "before.yaml"], capsys)[0] == 0
    code, _, err = run_in(tmp_path, ["compile"], capsys)
    assert code == 0, err
    return tmp_path


def test_a_compiled_profile_is_adopted_without_a_change(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (made,) = project.glob("out/clusters/lab/**/*performanceprofile-low.yaml")
    (project / "after.yaml").write_text(made.read_text())
    assert run_in(project, [*ADOPT, "--force", "after.yaml"], capsys)[0] == 0
    code, out, err = run_in(project, ["plan", "--against-folder", "out"], capsys)
    assert (code, out.startswith("No changes")) == (0, True), out + err


@pytest.mark.parametrize(
    ("change", "code", "impact"),
    [
        ({}, 0, "No changes: out/ would be the same"),
        ({"metadata": {"name": "low"}}, 3, "no impact"),
        (
            {
                "spec": PROFILE["spec"]
                | {"cpu": {"reserved": "0-1,32-33", "isolated": "2-31,34-63"}}
            },
            3,
            "reboot",
        ),
    ],
)
def test_the_profile_of_a_cluster_against_its_intent(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    code: int,
    impact: str,
) -> None:
    """As a file, and in a must-gather: another text of the same set is a reboot."""
    text = yaml.safe_dump(PROFILE | change | {"status": {"conditions": []}})
    gathered = project / "gathered/image/cluster-scoped-resources"
    for path in ("performance.openshift.io/performanceprofiles/low.yaml", "core/nodes/w-0.yaml"):
        (gathered / path).parent.mkdir(parents=True)
        (gathered / path).write_text(text if "performance" in path else "kind: Node\n")
    (project / "live.yaml").write_text(text)
    for given in ("live.yaml", "gathered"):
        command = ["plan", "--against-profiles", given, "--exit-code"]
        exit_code, out, err = run_in(project, command, capsys)
        assert (exit_code, impact in out) == (code, True), out + err


def test_a_profile_that_the_cluster_lacks_is_new(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = PROFILE | {"metadata": {"name": "other"}}
    (project / "live.yaml").write_text(yaml.safe_dump(other))
    command = ["plan", "--against-profiles", "live.yaml", "--exit-code"]
    code, out, _ = run_in(project, command, capsys)
    assert code == 3
    assert "new" in out
