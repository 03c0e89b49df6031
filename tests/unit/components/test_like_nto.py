"""Settings against what the node tuning operator was recorded to make of the same CPU sets."""

import json
import tomllib
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.backends.openshift.objects import CRIO_DROP_IN
from cpuplan.base.cpuset import CpuSet, union
from cpuplan.components import crio, kernel, kubelet, runtimeclass
from cpuplan.components.openshift import mixedcpus, operator_units
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import plan, regular

RENDER = Path(__file__).parents[3].parent / "shared/vectors/nto/render"
pytestmark = pytest.mark.skipif(not RENDER.is_dir(), reason=f"recorded data is not at {RENDER}")

#: Settings of profiles that intents do not have.
NOT_OURS = ("ovsDpdk", "hardwareTuning", "additionalKernelArgs")
LEFT_OUT = {
    "cpu-isolated-empty": "no isolated CPUs: the operator writes arguments with empty lists",
    "cpu-offlined-bad": "a list that nobody can read",
    "cpu-overlap-not-checked": "overlapping pools",
    "cpu-reserved-leading-zero": "a list that cpuplan refuses",
    "cpu-reserved-missing": "no reserved CPUs",
    "cpu-section-missing": "no CPUs at all",
    "cpu-syntax-letters": "a list that nobody can read",
    "cpu-syntax-space": "a list that nobody can read",
    "cpu-syntax-trailing-comma": "a list that nobody can read",
    "huge-bad-size-global": "a size that no kernel has",
    "huge-bad-size-node": "a size that no kernel has",
    "huge-count-string": "a number in quotes",
    "huge-duplicates": "a size asked for twice",
    "numa-bogus": "a policy that no kubelet has",
    "numa-empty-string": "a policy that no kubelet has",
}
PLATFORMS: dict[str, dict[str, Any]] = {
    "intel-icelake": {"vendor": "GenuineIntel", "model": 106},
    "intel-skylake": {"vendor": "GenuineIntel", "model": 85},
    "amd": {"vendor": "AuthenticAMD", "model": 17},
    "arm": {"vendor": "ARM", "architecture": "aarch64", "model": None},
}


def load(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(path.read_text())
    return data


@cache
def profile(case: str) -> dict[str, Any]:
    return load(RENDER / case / "input/profile.yaml")


def cases() -> list[str]:
    names = []
    for folder in sorted(RENDER.glob("*")) if RENDER.is_dir() else ():
        group = folder.name.partition("-")[0]
        written = (folder / "expected").is_dir()
        if group not in ("cpu", "numa", "huge", "hints") or folder.name in LEFT_OUT or not written:
            continue
        text = (folder / "input/profile.yaml").read_text()
        if not any(name in text for name in NOT_OURS):
            names.append(folder.name)
    return names


def expected(case: str, kind: str) -> dict[str, Any]:
    folder = RENDER / case
    truth = folder / "expected-controller"
    return load((truth if truth.is_dir() else folder / "expected") / f"p_{kind}.yaml")


def online(case: str) -> CpuSet:
    """The CPUs before some were switched off."""
    path = RENDER / case / "cmdline.yaml"
    if not path.is_file():
        return CpuSet(range(8))
    outputs = load(path)["by_output"].values()
    return union(CpuSet.parse(line["online"]) for output in outputs for line in output.values())


def planned(case: str, platform: str = "intel-icelake") -> ConfiguredPlan:
    spec = profile(case)["spec"]
    cpu, hints, huge = spec["cpu"], spec.get("workloadHints") or {}, spec.get("hugepages") or {}
    pages = [
        {
            "size": page["size"],
            "count": page["count"],
            **({"numaNode": page["node"]} if "node" in page else {}),
        }
        for page in huge.get("pages") or ()
    ]
    numa = {"topologyManagerPolicy": spec["numa"]["topologyPolicy"]} if "numa" in spec else {}
    intent: dict[str, Any] = {
        "isolation": {"domain": cpu.get("balanceIsolated") is False},
        "kubelet": numa,
        "hugePages": {"pages": pages}
        | (
            {"defaultSize": huge["defaultHugepagesSize"]}
            if huge.get("defaultHugepagesSize")
            else {}
        ),
        "workloadHints": {key: value for key, value in hints.items() if key != "mixedCpus"},
        "runtime": {"mixedCpus": bool(hints.get("mixedCpus"))},
    }
    offlined = cpu.get("offlined", "")
    everything = online(case) | CpuSet.parse(offlined)
    return plan(
        regular(cores=everything.last + 1, numa_nodes=1),
        reserved=cpu["reserved"],
        shared=cpu.get("shared", ""),
        isolated=cpu["isolated"],
        offlined=offlined,
        spec=intent,
        **PLATFORMS[platform],
    )


EACH_CASE = pytest.mark.parametrize("case", cases())


def test_enough_cases_are_compared() -> None:
    assert len(cases()) > 25


@EACH_CASE
def test_kubelet(case: str) -> None:
    configuration = kubelet.configuration(list(kubelet.settings(planned(case))))
    wanted = expected(case, "kubeletconfig")["spec"]["kubeletConfig"]
    # The rest are zero values that Go prints of every field without `omitempty`.
    ours = {
        "cpuManagerPolicyOptions",
        "memoryManagerPolicy",
        "reservedMemory",
        "topologyManagerScope",
        *configuration,
    }
    assert configuration == {key: value for key, value in wanted.items() if key in ours}


def once(arguments: list[str]) -> list[str]:
    """Each argument once, where it comes first.

    Those of huge pages take turns, and are repeated with a meaning.
    """
    paired = ("hugepagesz=", "hugepages=")
    return [
        word
        for at, word in enumerate(arguments)
        if word.startswith(paired) or word not in arguments[:at]
    ]


@pytest.mark.parametrize("platform", PLATFORMS)
@EACH_CASE
def test_kernel_arguments(case: str, platform: str) -> None:
    path = RENDER / case / "cmdline.yaml"
    outputs = load(path)["by_output"]
    wanted = next(
        output for name, output in outputs.items() if "controller" in name or len(outputs) == 1
    )[platform]
    arguments = kernel.arguments(list(kernel.settings(planned(case, platform))))
    assert sorted(arguments) == sorted(once(wanted["cmdline"].split()))
    # The operator repeats hugepagesz= for each size; order matters there and for readers of diffs.
    assert [word for word in arguments if word.startswith("hugepages")] == [
        word for word in wanted["cmdline"].split() if word.startswith("hugepages")
    ]


def test_arguments_come_in_the_operators_order() -> None:
    wanted = load(RENDER / "hints-rtx-hp1-pmx/cmdline.yaml")["by_output"]["expected/p_tuned.yaml"]
    for platform in PLATFORMS:
        arguments = kernel.arguments(list(kernel.settings(planned("hints-rtx-hp1-pmx", platform))))
        assert arguments == once(wanted[platform]["cmdline"].split())


@cache
def machine_config(case: str) -> tuple[dict[str, tuple[int, str]], dict[str, str]]:
    config = expected(case, "machineconfig")["spec"]["config"]
    files = {
        file["path"]: (
            file["mode"],
            b64decode(file["contents"]["source"].partition("base64,")[2]).decode(),
        )
        for file in config["storage"]["files"]
    }
    return files, {unit["name"]: unit["contents"] for unit in config["systemd"]["units"]}


@EACH_CASE
def test_crio_and_mixed_cpus(case: str) -> None:
    node = planned(case)
    wanted, _ = machine_config(case)
    settings = node.settings
    assert tomllib.loads(crio.render(settings.of(crio.NAME))) == tomllib.loads(
        wanted[CRIO_DROP_IN][1]
    )
    mixed = settings.of(mixedcpus.NAME)
    assert bool(mixed) == (mixedcpus.PATH in wanted)
    if mixed:
        assert json.loads(mixedcpus.render(mixed)) == json.loads(wanted[mixedcpus.PATH][1])


@EACH_CASE
def test_files_and_modes(case: str) -> None:
    node = planned(case)
    wanted, _ = machine_config(case)
    others = {CRIO_DROP_IN, mixedcpus.PATH}
    modes = {
        path: mode
        for path, (mode, _) in operator_units.files(node.settings.of(operator_units.NAME)).items()
    }
    assert modes == {path: mode for path, (mode, _) in wanted.items() if path not in others}


def sections(text: str) -> dict[str, list[str]]:
    """What orders, starts and feeds a unit: its lines without description, comments, commands."""
    by_section: dict[str, list[str]] = {}
    name = ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("["):
            name = line
        elif line and not line.startswith(("#", "Description=", "Exec")):
            by_section.setdefault(name, []).append(line)
    return {name: sorted(lines) for name, lines in by_section.items()}


@EACH_CASE
def test_units(case: str) -> None:
    _, wanted = machine_config(case)
    texts = operator_units.units(planned(case).settings.of(operator_units.NAME))
    assert sorted(texts) == sorted(wanted)
    for name, text in texts.items():
        assert sections(text) == sections(wanted[name]), name


def test_drop_ins_of_open_vswitch_and_stalld() -> None:
    wanted, _ = machine_config("cpu-minimal")
    files = operator_units.files(planned("cpu-minimal").settings.of(operator_units.NAME))
    for path, (_, text) in files.items():
        if path.endswith((".conf", ".slice")):
            assert sections(text) == sections(wanted[path][1])
    backend = "/etc/sysconfig/stalld-backend"
    assert files[backend] == wanted[backend]


@EACH_CASE
def test_runtime_class(case: str) -> None:
    made = runtimeclass.document(planned(case).settings.of(runtimeclass.NAME))
    wanted = expected(case, "runtimeclass")
    assert (made["handler"], made["scheduling"]) == (wanted["handler"], wanted["scheduling"])
