"""Every suite notices an expectation that is not what cpuplan does.

Each kind of value of a few of them is changed and taken away, and the suite must fail. What a suite
does not compare is listed here, with the reason.
"""

import base64
import gzip
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.base.cpuset import CpuSet
from cpuplan.profiles.propose.cluster import Dump
from tests.conformance import (
    admission,
    contents,
    corpus,
    crio,
    dra,
    koordinator,
    kubelet,
    machineinfo,
    mco,
    meaning,
    nri,
    nrt,
    nto_ppc,
    nto_release_objects,
    nto_releases,
    nto_render,
    nto_validate,
)
from tests.mutations import Mutant, mutants, other_text
from tests.projects import needs_shared

pytestmark = [needs_shared, pytest.mark.slow]  # each suite runs on changed answers
Json = dict[str, Any]
Results = Iterable[tuple[str, list[str]]]


def _unnoticed(results: Results, not_compared: str) -> list[str]:
    """The mutants that passed, but for those that the suite does not compare."""
    passed = [vector for vector, failures in results if not failures]
    return [vector for vector in passed if not re.search(not_compared, vector)]


def _first_of_each(cases: Iterable[Json], key: str, number: int = 2) -> list[Json]:
    """The first cases of each kind."""
    chosen: dict[str, list[Json]] = {}
    for case in cases:
        chosen.setdefault(case[key], []).append(case)
    return [case for kind in chosen.values() for case in kind[:number]]


def _lines(path: Path) -> list[Json]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in text.splitlines()]


def _write_mutants(file: Path, cases: Iterable[Json], key: str) -> int:
    """A file of cases whose `key` is mutated; how many there are."""
    lines = []
    for case in cases:
        for mutant in mutants(case[key]):
            mutated = {**case, "id": f"{case['id']} {mutant.kind}", key: mutant.value}
            lines.append(json.dumps(mutated))
    file.write_text("\n".join(lines))
    return len(lines)


#: Error texts count as one ("Match on presence", vectors/crio/README.md); QoS classes and amounts
#: are
#: compared by the suite `kubelet`.
_NOT_OF_CRIO = (
    r"adm-.* (error |qos_\w+ "
    r"|pod\.containers|stage|reason|code|handled|api_validation|annotations_err)"
    r"|steps\.\[\]\.error changed|adm-cfgfile-\d+ error"
    # What is logged, and what pods get, is not asked of a configuration.
    r"|cfg-.* (query|warnings|(load|validate|exec)_error)|cfg-.*shared_cpuset_use_error changed"
    r"|sysd-.* log"
)


@pytest.mark.parametrize("name", crio._FILES)
def test_crio(name: str, tmp_path: Path) -> None:
    cases = [case for case in _lines(crio.VECTORS / name) if case["kind"] in crio.KINDS]
    number = _write_mutants(tmp_path / name, _first_of_each(cases, "kind", 6), "out")
    results = list(crio.run([tmp_path / name]))
    assert len(results) == number > 10
    assert "\n".join(_unnoticed(results, _NOT_OF_CRIO)) == ""


_KUBELET_FILES = sorted(
    path.name
    for path in kubelet.VECTORS.glob("*.jsonl*")
    if not path.name.startswith("machineinfo")
)


@pytest.mark.parametrize("name", _KUBELET_FILES)
def test_kubelet(name: str, tmp_path: Path) -> None:
    file = tmp_path / name.removesuffix(".gz")
    number = _write_mutants(
        file, _first_of_each(_lines(kubelet.VECTORS / name), "op", 3), "expected"
    )
    results = list(kubelet.run([file]))
    assert len(results) == number > 0
    assert "\n".join(_unnoticed(results, "$^")) == ""


@pytest.mark.parametrize("name", sorted(path.name for path in nrt.VECTORS.glob("*.jsonl")))
def test_nrt(name: str, tmp_path: Path) -> None:
    cases = _first_of_each(_lines(nrt.VECTORS / name), "op", 10)
    number = _write_mutants(tmp_path / name, cases, "expected")
    results = list(nrt.run([tmp_path / name]))
    assert len(results) == number > 10
    # Without reasons, null is as good as nothing.
    assert "\n".join(_unnoticed(results, "match-.* reasons removed")) == ""


_KOORDINATOR_FILES = sorted(path.name for path in koordinator.VECTORS.glob("*.jsonl"))


@pytest.mark.parametrize("name", _KOORDINATOR_FILES)
def test_koordinator(name: str, tmp_path: Path) -> None:
    lines = _lines(koordinator.VECTORS / name)
    cases = [case for case in lines if case["op"] in koordinator.KINDS and "note" not in case]
    mutated = [
        {**case, "id": f"{case['id']} {mutant.kind}", "expected": mutant.value}
        for case in cases[:: len(cases) // 12 or 1]
        for mutant in mutants(case["expected"])
        # Null is as good as nothing.
        if mutant.leaf is not None or not mutant.kind.endswith(" removed")
    ]
    (tmp_path / name).write_text("\n".join(map(json.dumps, mutated)))
    results = list(koordinator.run([tmp_path / name]))
    assert len(results) == len(mutated)
    assert "\n".join(_unnoticed(results, "$^")) == ""


@pytest.mark.parametrize("name", sorted(path.name for path in nri.VECTORS.glob("dra-*")))
def test_dra(name: str, tmp_path: Path) -> None:
    file = tmp_path / name.removesuffix(".gz")
    number = _write_mutants(file, _lines(nri.VECTORS / name)[:12:5], "expected")
    results = list(dra.run([file]))
    assert len(results) == number > 2
    assert "\n".join(_unnoticed(results, "$^")) == ""


def test_machineinfo(tmp_path: Path) -> None:
    file = tmp_path / "machineinfo.jsonl"
    number = _write_mutants(file, _lines(machineinfo.VECTORS)[:2], "expected")
    results = list(machineinfo.run([file]))
    assert len(results) == number > 30
    # What the inventory does not hold (machineinfo._LEFT_OUT).
    assert "\n".join(_unnoticed(results, r"\.(hugepages|nodeCaches)\b")) == ""


def _object_mutants(manifest: Json) -> Iterator[Mutant]:
    """Mutants of an object, of the files in it line by line."""
    for mutant in mutants(_unfolded(manifest), _text_of_lines):
        yield mutant._replace(value=_folded(mutant.value))


def _text_of_lines(_: object, text: str) -> str | None:
    return text if "\n" in text else None


def _unfolded(manifest: Json) -> Json:
    """The object with files and units by name, and the texts of files as they are on a node."""
    config = manifest.get("spec", {}).get("config")
    if config is None:
        return manifest
    named = {**config, "storage": {}, "systemd": {}}
    for file in config["storage"]["files"]:
        text = contents.decoded(file["contents"])
        named["storage"][file["path"]] = {**file, "contents": {**file["contents"], "source": text}}
    for unit in (config.get("systemd") or {}).get("units") or ():
        named["systemd"][unit["name"]] = unit
    return {**manifest, "spec": {**manifest["spec"], "config": named}}


def _folded(manifest: Json) -> Json:
    config = manifest.get("spec", {}).get("config")
    if config is None:
        return manifest
    files = []
    for file in config.get("storage", {}).values():
        given = file.get("contents") or {}
        data = base64.b64encode((given.get("source") or "").encode()).decode()
        files.append({**file, "contents": {**given, "source": f"data:;base64,{data}"}})
    units = list(config.get("systemd", {}).values())
    folded = {**config, "storage": {"files": files}, "systemd": {"units": units}}
    return {**manifest, "spec": {**manifest["spec"], "config": folded}}


def _copies(
    folder: Path, case: Path, file: str, changed: Iterable[Mutant], *, listed: bool = False
) -> dict[str, str]:
    """A copy of the folder `case` for each mutant of `file` in it; kinds by the copy's name."""
    kinds = {}
    for number, mutant in enumerate(changed):
        copy = folder / f"{case.name}-{number}"
        shutil.copytree(case, copy)
        (copy / file).chmod(0o644)
        value = [mutant.value] if listed else mutant.value
        (copy / file).write_text(yaml.safe_dump(value))
        kinds[copy.name] = mutant.kind
    return kinds


def test_nto_validate(tmp_path: Path) -> None:
    kinds: dict[str, str] = {}
    for case in sorted(nto_validate.VECTORS.glob("*/expected.yaml"))[::6]:
        expected = yaml.safe_load(case.read_text())
        kinds |= _copies(tmp_path, case.parent, "expected.yaml", mutants(expected))
    results = [(f"{name} {kinds[name]}", wrong) for name, wrong in nto_validate.run([tmp_path])]
    assert len(results) == len(kinds) > 100
    # Wording and kinds of causes are the webhook's own; a verdict that is absent is none of yes.
    assert (
        "\n".join(
            _unnoticed(
                results,
                r" (id|note|webhook\.causes\.\[\]\.(message|type)) |webhook\.allowed removed",
            )
        )
        == ""
    )


def _answers(folder: Path, target: Path, file: str, value: Any) -> None:
    copy = target / "ppc" / folder.name
    copy.mkdir(parents=True, exist_ok=True)
    (copy / file).write_text(yaml.safe_dump(value))


#: A false switch is as good as none; a profile needs a name, so one without is the creator's fault.
#: A changed CPU set breaks a rule, so it is no answer to be compared with (test_nto_ppc_layouts).
_NOT_OF_PPC = (
    r"(userLevelNetworking|realTimeKernel\.enabled|workloadHints\.\w+|metadata\.name) removed"
    r"|tuning "
    r"(net|realTimeKernel|enabled|workloadHints|highPowerConsumption|perPod\w+|realTime) removed"
    r"|(spec\.cpu\.|tuning )(isolated|reserved)|tuning status|alerts\.\[\] "
)


def _only(case: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: case[key] for key in keys}


@pytest.mark.parametrize("name", ["syn-2s64-block", "syn-hosted-2nodepools"])
def test_nto_ppc(name: str, tmp_path: Path) -> None:
    folder = nto_ppc.FOLDER / "ppc" / name
    cases = yaml.load((folder / "cases.yaml").read_text(), yaml.CSafeLoader)
    compared = ("exit_code", "profile", "alerts")
    answered = [case for case in cases if case["exit_code"] == 0][:2]
    copies = [
        {"args": case["args"], **mutant.value, "id": f"{case['id']} {mutant.kind}"}
        for case in answered
        for mutant in mutants(_only(case, compared), _text_of_lines)
    ]
    _answers(folder, tmp_path, "cases.yaml", copies)
    results = list(nto_ppc.run([tmp_path]))
    assert len(results) == len(copies) > 20
    assert "\n".join(_unnoticed(results, _NOT_OF_PPC)) == ""


def test_nto_ppc_layouts(tmp_path: Path) -> None:
    """Another layout that is right by the rules, as the creator's answer: not the one proposed."""
    folder = nto_ppc.FOLDER / "ppc" / "syn-2s64-block"
    case = yaml.load((folder / "cases.yaml").read_text(), yaml.CSafeLoader)[0]
    cpus = case["profile"]["spec"]["cpu"]
    reserved, isolated = CpuSet.parse(cpus["reserved"]), CpuSet.parse(cpus["isolated"])
    machine = Dump(nto_ppc.FOLDER / "must-gather" / folder.name).machine(_node_of(case))
    assert machine is not None
    given = next(core for core in machine.siblings if core <= reserved)
    taken = [core for core in machine.siblings if core <= isolated][-1]
    cpus |= {
        "reserved": str((reserved - given) | taken),
        "isolated": str((isolated - taken) | given),
    }
    _answers(folder, tmp_path, "cases.yaml", [case])
    [(_, failures)] = nto_ppc.run([tmp_path])
    assert any("the creator's is Layout" in failure for failure in failures)


def _node_of(case: Json) -> str:
    return str(case["alerts"][0].split(": ")[1].split()[0])


def test_nto_ppc_listings(tmp_path: Path) -> None:
    folder = nto_ppc.FOLDER / "ppc" / "syn-2s64-block"
    listing = yaml.load((folder / "info.yaml").read_text(), yaml.CSafeLoader)
    unnoticed = []
    for mutant in mutants({"json": listing["json"]}):
        _answers(folder, tmp_path, "cases.yaml", [])
        _answers(folder, tmp_path, "info.yaml", {**listing, **mutant.value})
        [(_, failures)] = nto_ppc.run([tmp_path])
        unnoticed += [mutant.kind] * (not failures)
    assert "\n".join(kind for kind in unnoticed if not re.search(_NOT_OF_LISTINGS, kind)) == ""


#: The creator counts the CPUs that it has itself, and numbers the nodes in the order of its list. A
#: list with a CPU twice is one that lacks another, as the creator's do where a dump lacks files.
_NOT_OF_LISTINGS = r"cpus_count|numa_cells\.\[\]\.(id|cores\.\[\] changed)"

#: Cases with every kind of object and file among them.
_RENDERED = (
    "ann-rps-enable",
    "ann-exec-affinity-disable",
    "cpu-ovsdpdk-lb-disabled-shared",
    "cpu-shared-with-mixed",
    "huge-1g-node0-node1",
    "kernel-pagesize-64k",
    "mix-everything",
    "upstream-default",
)
#: By vectors/nto/README.md, "Comparing rendered manifests": texts for people and the operator's own
#: scripts; owners; `overwrite`; what Go prints for what nobody set; boot arguments and the profiles
#: that hold nothing else, which are compared as a command line.
_NOT_OF_RENDER = (
    r"weak-owner-reference|creationTimestamp|ownerReferences|: status\b|Description|Documentation"
    r"|spec\.kernelArguments|storage\./usr/local/bin/|summary|\[bootloader\]"
    r"|ignition\.version changed|\[main\]include "
    r"changed|not_isolated_cores_expanded|\[main\]openshift-node-performance-"
)

#: Empty values, durations that nobody set, the file mode and kernel of those that tell none.
_SAME_AS_ABSENT: tuple[Any, ...] = (None, "", [], {}, False, "0s", "0", 0o644, "default")


@pytest.mark.parametrize("name", _RENDERED)
def test_nto_render(name: str) -> None:
    folder = nto_render._expected_folder(nto_render.VECTORS / name)
    objects = [item for file in sorted(folder.glob("*.yaml")) for item in nto_render._load(file)]
    results = [
        (f"{manifest['kind']}: {mutant.kind}", _noticed(manifest, mutant.value))
        for manifest in objects
        for mutant in _object_mutants(manifest)
        if not (mutant.kind.endswith(" removed") and mutant.leaf in _SAME_AS_ABSENT)
    ]
    assert len(results) > 300
    assert "\n".join(_unnoticed(results, _NOT_OF_RENDER)) == ""


def _noticed(expected: Json, mutant: Json) -> list[str]:
    """What the suite says of a changed expectation; that it cannot be read is enough."""
    try:
        wanted, given = (
            meaning.canonical(manifest, real_time=True) for manifest in (mutant, expected)
        )
    except Exception as error:
        return [repr(error)]
    return [what for _, what in meaning.differences(wanted, given)]


def test_nto_render_as_a_whole(tmp_path: Path) -> None:
    """Each file of a case is looked at, and its command lines."""
    case = nto_render.VECTORS / "cpu-minimal"
    copies: dict[str, str] = {}
    for place, file in enumerate(sorted(nto_render._expected_folder(case).glob("*.yaml"))):
        expected = yaml.load(file.read_text(), yaml.CSafeLoader)
        renamed = Mutant(file.name, "", {**expected, "metadata": {"name": "other"}})
        path = f"{file.parent.name}/{file.name}"
        copies |= _copies(tmp_path / str(place), case, path, [renamed])
    lines = yaml.load((case / "cmdline.yaml").read_text(), yaml.CSafeLoader)
    by_platform = lines["by_output"]["expected/p_tuned.yaml"]
    for platform in nto_render.PLATFORMS:
        arguments = by_platform[platform]["kernelArguments"]
        changed = [*arguments[:-1], other_text(arguments[-1])]
        others = {**by_platform, platform: {"kernelArguments": changed}}
        mutant = Mutant(platform, "", {"by_output": {"expected/p_tuned.yaml": others}})
        copies |= _copies(tmp_path / platform, case, "cmdline.yaml", [mutant])
    results = list(nto_render.run([tmp_path]))
    assert len(results) > len(nto_render.PLATFORMS)
    assert [name for name, failures in results if not failures] == []


#: As of `render`; and sysctls of TuneD's parents, which cpuplan's profile includes too, the profile
#: for kernels that the case has not, and the command lines before CPUs were switched off.
_NOT_OF_RELEASES = (
    r"\.bootloader\b|summary|include "
    r"changed|/usr/local/bin/|Description|not_isolated_cores_expanded"
    r"|enable_dynamic_cpu_affinity\.text|ignition changed|kernelType removed|-rt-perf\.sysctl"
    r"|online |before-offlining|tuned changed|sysctl "
    r"(fs|net|vm\.max_map_count|kernel\.(pid_max|numa_b))"
)


def test_nto_releases(tmp_path: Path) -> None:
    vectors = nto_release_objects.VECTORS
    lines = _lines(vectors / "render" / "4.15.jsonl.gz")
    line = next(line for line in lines if line["id"] == "cluster-pinned")
    (tmp_path / "render").mkdir()
    for name in ("cases.jsonl", "crd-fields.jsonl"):
        shutil.copy(vectors / name, tmp_path)
    kinds, mutated = [], []
    for key in ("expected", "cmdline", "webhook", "sysctl"):
        for mutant in mutants(line[key]):
            kinds.append(f"{key} {mutant.kind}")
            mutated.append(json.dumps({**line, key: mutant.value}))
    file = tmp_path / "render" / "4.15.jsonl"
    file.write_text("\n".join(mutated))
    failures = [failure for _, of_case in nto_releases.run([file]) for failure in of_case]
    noticed = {int(failure.split(":")[1]) for failure in failures}
    results = [(kind, ["."] if at in noticed else []) for at, kind in enumerate(kinds, start=1)]
    assert len(results) > 200
    assert "\n".join(_unnoticed(results, _NOT_OF_RELEASES)) == ""


def test_admission(tmp_path: Path) -> None:
    file = tmp_path / "pods.jsonl"
    cases = _lines(admission.VECTORS / "pods.jsonl")[::7]
    for case in cases:
        for verdict in case["verdicts"].values():
            # The answer of the API's own validation (422) is not cpuplan's.
            if verdict["code"] == admission._INVALID:
                del verdict["message"]
    number = _write_mutants(file, cases, "verdicts")
    results = list(admission.run([file]))
    assert len(results) == number > 60
    assert "\n".join(_unnoticed(results, "$^")) == ""


#: Texts are the operator's own; whether it refuses is compared (of a merge the stage, of an object
#: whether it is accepted).
_NOT_OF_MCO = (
    r"(error|refused_against_current|\.message) changed"
    r"|\.message removed|^(merge|validate)\.jsonl.* error removed"
)


@pytest.mark.parametrize("name", sorted(path.name for path in mco.VECTORS.glob("*.jsonl")))
def test_mco(name: str, tmp_path: Path) -> None:
    cases = [case for case in _lines(mco.VECTORS / name) if case["op"] in mco.OPERATIONS]
    # Of several answers that may be given, a wrong one does no harm.
    single = [case for case in cases[::6] if "one_of" not in case["expected"]]
    newest = [{**case, "by_release": {}} for case in single]
    number = _write_mutants(tmp_path / name, newest, "expected")
    results = list(mco.run([tmp_path / name]))
    assert len(results) == number > 10
    assert "\n".join(_unnoticed(results, _NOT_OF_MCO)) == ""


#: The keys of expected.json that are compared with what is imported; the others say where a machine
#: comes from, or sum up these.
_OF_CORPUS = (
    "arch",
    "model",
    "cmdline",
    "hugepages",
    "cpus",
    "numa",
    "caches",
    "pci",
    "views",
    "expected_kubelet",
)
#: Of huge pages the sizes count, and a number of 0 is as good as none; CPUs that are not there are
#: left out of the list of a NUMA node; cores and sockets of lscpu are compared as sets of CPUs; of
#: the kubelet's counts those that are told.
_NOT_OF_CORPUS = (
    r"hugepages\.\d+ (changed|removed)|cpus\.\[\]\.(l3_id|cluster|max_khz|cppc) |pci\.\[\]\.cpus "
    r"|numa\.\[\]\.cpus changed|views\.lscpu 2.*\.numa\."
    r"|views\.lscpu summary\.(threads_|cores_|sockets|numa|model removed|l3)"
    r"|expected_kubelet\.(sockets_from|num_\w+ removed|nodes|from|differs)"
)


_NETWORK = "0x020000"


@pytest.mark.parametrize("name", ["intel-i7-1370p-hybrid", "vm-2c-2s-accel-ghw"])
def test_corpus(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(corpus.CORPUS / name, folder)
    expected = folder / "expected.json"
    expected.chmod(0o644)
    facts = json.loads(expected.read_text())
    compared = {key: facts[key] for key in _OF_CORPUS if facts[key]}
    # Bridges and timers are not imported.
    others = [function for function in facts["pci"] if function["class"] != _NETWORK]
    if "pci" in compared:
        compared["pci"] = [function for function in facts["pci"] if function not in others]
    rest = {key: value for key, value in facts.items() if key not in _OF_CORPUS}
    changed = [mutant for mutant in mutants(compared) if not re.search(_NOT_OF_CORPUS, mutant.kind)]
    assert len(changed) > 30
    unnoticed = []
    for mutant in changed:
        functions = [*others, *mutant.value.get("pci", ())]
        expected.write_text(json.dumps({**rest, **mutant.value, "pci": functions}))
        if not any(failures for _, failures in corpus.run([folder])):
            unnoticed.append(mutant.kind)
    assert "\n".join(unnoticed) == ""
