import json
from pathlib import Path
from typing import Any

import pytest

from cpuplan.backends import kubernetes, openshift
from cpuplan.components import crio
from cpuplan.cpuset import CpuSet
from tests.machines.plans import plan

CONFIG = Path(__file__).parents[3].parent / "shared/vectors/crio/config.jsonl"
HANDLER = "runtimes.high-performance."


@pytest.mark.parametrize(
    ("version", "present", "absent"),
    [
        (
            "1.27",
            ["runtime_path", "runtime_type", "runtime_root"],
            ["inherit_default_runtime", "default_annotations"],
        ),
        ("1.31", ["runtime_path"], ["exec_cpu_affinity"]),
        (
            "1.32",
            ["inherit_default_runtime", "default_annotations"],
            ["runtime_path", "exec_cpu_affinity"],
        ),
        ("1.34", ["inherit_default_runtime", "exec_cpu_affinity"], ["runtime_path"]),
    ],
)
def test_a_handler_has_what_its_version_knows(
    version: str, present: list[str], absent: list[str]
) -> None:
    spec = {"runtime": {"handler": "high-performance", "execCpuAffinity": "first"}}
    found = plan(platform="kubernetes", version=version, spec=spec).settings.values(crio.NAME)
    assert {HANDLER + key for key in present} <= found.keys()
    assert not {HANDLER + key for key in absent} & found.keys()


@pytest.mark.parametrize(("version", "runtime"), [("4.17", "runc"), ("4.18", "crun")])
def test_older_releases_name_their_default_runtime(version: str, runtime: str) -> None:
    found = plan(version=version).settings.values(crio.NAME)
    assert found[HANDLER + "runtime_path"] == f"/usr/bin/{runtime}"
    assert found[HANDLER + "runtime_root"] == f"/run/{runtime}"


@pytest.mark.parametrize(("version", "known"), [("4.22", False), ("5.0", True)])
def test_gomaxprocs_since_1_36(version: str, known: bool) -> None:
    assert ("min_injected_gomaxprocs" in plan(version=version).settings.values("crio")) == known


def test_shared_cpus_and_their_hook_come_together() -> None:
    found = plan(shared="2-3").settings.values(crio.NAME)
    assert found["shared_cpuset"] == CpuSet.parse("2-3")
    assert crio.SHARED_HOOK in found[HANDLER + "allowed_annotations"]  # type: ignore[operator]


@pytest.mark.parametrize(
    "node",
    [
        plan(shared="2-3", spec={"runtime": {"mixedCpus": False}}),
        plan(shared="2-3", version="4.15"),
    ],
)
def test_no_hook_for_shared_cpus_that_nobody_may_use(node: Any) -> None:
    found = node.settings.values(crio.NAME)
    assert "shared_cpuset" not in found
    assert crio.SHARED_HOOK not in found[HANDLER + "allowed_annotations"]


def test_our_drop_in_comes_after_the_vendors() -> None:
    assert openshift.PATHS[crio.NAME] == "/etc/crio/crio.conf.d/99-runtimes.conf"
    assert kubernetes.PATHS[crio.NAME] > "/etc/crio/crio.conf.d/99-runtimes.conf"


FIRST = """
[crio.runtime]
infra_ctr_cpuset = "0-1"
default_runtime = "crun"
[crio.runtime.runtimes.high-performance]
runtime_path = "/usr/bin/crun"
allowed_annotations = ["cpu-quota.crio.io"]
[crio.runtime.runtimes.other]
runtime_path = "/usr/bin/other"
"""


def test_a_later_handler_replaces_the_whole_table() -> None:
    later = '[crio.runtime.runtimes.high-performance]\nexec_cpu_affinity = "first"\n'
    merged = crio.merge(crio.parse(FIRST), crio.parse(later))
    assert {key for key in merged if key.startswith("runtimes")} == {
        "runtimes.high-performance.exec_cpu_affinity",
        "runtimes.other.runtime_path",
    }
    assert merged["infra_ctr_cpuset"] == CpuSet.parse("0-1")


def test_an_empty_handler_replaces_the_whole_table() -> None:
    merged = crio.merge(crio.parse(FIRST), crio.parse("[crio.runtime.runtimes.high-performance]\n"))
    assert {key for key in merged if key.startswith("runtimes.high")} == {
        "runtimes.high-performance"
    }


def test_keys_match_in_any_case_and_names_do_not() -> None:
    merged = crio.merge(
        crio.parse(FIRST),
        crio.parse(
            '[CRIO.Runtime]\nInfra_Ctr_CpuSet = "2"\n[crio.runtime.runtimes.OTHER]\n'
            'runtime_path = ""\n'
        ),
    )
    assert merged["infra_ctr_cpuset"] == CpuSet.parse("2")
    assert {"runtimes.other.runtime_path", "runtimes.OTHER.runtime_path"} <= merged.keys()


def test_other_tables_keep_their_names() -> None:
    assert crio.parse("[crio.nri]\nenable_nri = true\n") == {"crio.nri.enable_nri": True}


def test_other_tables_are_merged_key_by_key() -> None:
    """Only handlers and workloads are replaced whole."""
    first = '[crio.image]\npause_image = "a"\n[crio.metrics.tls.files]\ncert = "b"\n'
    later = '[crio.image]\npause_command = "c"\n[crio.metrics.tls.files]\nkey = "d"\n'
    assert crio.merge(crio.parse(first), crio.parse(later)) == {
        "crio.image.pause_image": "a",
        "crio.image.pause_command": "c",
        "crio.metrics.tls.files.cert": "b",
        "crio.metrics.tls.files.key": "d",
    }


def test_annotations_keep_their_case() -> None:
    text = '[crio.runtime.runtimes.a.default_annotations]\n"Run.OCI" = ""\n'
    key = "runtimes.a.default_annotations"
    assert crio.parse(text)[key] == {"Run.OCI": ""}
    assert crio.parse(text.replace("default", "DEFAULT"))[key] == {"Run.OCI": ""}


def test_a_list_that_cannot_be_read_stays_text() -> None:
    assert crio.parse('[crio.runtime]\nshared_cpuset = "0 1"\n') == {"shared_cpuset": "0 1"}
    assert crio.parse("[crio.runtime]\nshared_cpuset = 3\n") == {"shared_cpuset": 3}


def test_no_toml_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expected"):
        crio.parse("shared_cpuset 0-1")


def recorded() -> list[Any]:
    cases = (
        [json.loads(line) for line in CONFIG.read_text().splitlines()] if CONFIG.is_file() else []
    )
    return [
        pytest.param(case["in"]["files"], case["out"].get("result", {}), id=case["id"])
        for case in cases
        if case["kind"] == "config" and case["out"]["verdict"] in ("ok", "handler-dropped")
    ]


@pytest.mark.skipif(not CONFIG.is_file(), reason=f"recorded data is not at {CONFIG}")
@pytest.mark.parametrize(("files", "result"), recorded())
def test_merged_as_crio_merges(files: dict[str, str], result: dict[str, Any]) -> None:
    order = sorted(files, key=lambda path: (path != "crio.conf", path))
    merged = crio.merge(*(crio.parse(files[path]) for path in order))
    for key in ("infra_ctr_cpuset", "shared_cpuset", "min_injected_gomaxprocs"):
        value = merged.get(key, "")
        assert str(value or "") == str(result.get(key) or "") or value == CpuSet.parse(
            str(result.get(key, ""))
        )
    for handler, table in (result.get("runtimes") or {}).items():
        if any(key.startswith(f"runtimes.{handler}.") for key in merged):
            given = merged.get(f"runtimes.{handler}.exec_cpu_affinity", "")
            assert given == table.get("exec_cpu_affinity", "")


@pytest.mark.parametrize(
    "key", ["a" + ".a" * 100_000, '"a"' + '."a"' * 100_000, "a" + " .\t'a'" * 100_000]
)
def test_toml_of_long_keys(key: str) -> None:
    with pytest.raises(ValueError, match="a key has more than 32 parts"):
        crio.parse(f"{key} = 1\n")
    assert crio.parse('[a.b]\nc = "1.2.3.4"  # ........................................\n')
