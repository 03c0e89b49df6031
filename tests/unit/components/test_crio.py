from typing import Any

import pytest

from cpuplan.backends import kubernetes
from cpuplan.backends.openshift import objects
from cpuplan.base.cpuset import CpuSet
from cpuplan.components import crio
from cpuplan.plan.setting import Value
from cpuplan.upstream.crio import releases
from cpuplan.upstream.crio.config import decode, merge
from tests.machines.plans import plan

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
    config = plan(platform="kubernetes", version=version, spec=spec).settings.values(crio.NAME)
    assert {HANDLER + key for key in present} <= config.keys()
    assert not {HANDLER + key for key in absent} & config.keys()


@pytest.mark.parametrize(("version", "runtime"), [("4.17", "runc"), ("4.18", "crun")])
def test_older_releases_name_their_default_runtime(version: str, runtime: str) -> None:
    config = plan(version=version).settings.values(crio.NAME)
    assert config[HANDLER + "runtime_path"] == f"/usr/bin/{runtime}"
    assert config[HANDLER + "runtime_root"] == f"/run/{runtime}"


@pytest.mark.parametrize(("version", "known"), [("4.22", False), ("5.0", True)])
def test_gomaxprocs_since_1_36(version: str, known: bool) -> None:
    assert ("min_injected_gomaxprocs" in plan(version=version).settings.values("crio")) == known


def test_shared_cpus_and_their_hook_come_together() -> None:
    config = plan(shared="2-3").settings.values(crio.NAME)
    assert config["shared_cpuset"] == CpuSet.parse("2-3")
    assert releases.SHARED in config[HANDLER + "allowed_annotations"]  # type: ignore[operator]


@pytest.mark.parametrize(
    "node",
    [
        plan(shared="2-3", spec={"runtime": {"mixedCpus": False}}),
        plan(shared="2-3", version="4.15"),
    ],
)
def test_no_hook_for_shared_cpus_that_nobody_may_use(node: Any) -> None:
    config = node.settings.values(crio.NAME)
    assert "shared_cpuset" not in config
    assert releases.SHARED not in config[HANDLER + "allowed_annotations"]


def test_our_drop_in_comes_after_the_vendors() -> None:
    assert objects.CRIO_DROP_IN == "/etc/crio/crio.conf.d/99-runtimes.conf"
    assert kubernetes.CRIO_DROP_IN > "/etc/crio/crio.conf.d/99-runtimes.conf"


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


def merged(*texts: str) -> dict[str, Value]:
    return crio.flat(merge({str(at): decode("", text) for at, text in enumerate(texts)}))


def test_a_later_handler_replaces_the_whole_table() -> None:
    later = '[crio.runtime.runtimes.high-performance]\nexec_cpu_affinity = "first"\n'
    config = merged(FIRST, later)
    assert {key for key in config if key.startswith("runtimes")} == {
        "runtimes.high-performance.exec_cpu_affinity",
        "runtimes.other.runtime_path",
    }
    assert config["infra_ctr_cpuset"] == CpuSet.parse("0-1")


def test_an_empty_handler_replaces_the_whole_table() -> None:
    config = merged(FIRST, "[crio.runtime.runtimes.high-performance]\n")
    assert {key for key in config if key.startswith("runtimes.high")} == {
        "runtimes.high-performance"
    }


def test_other_tables_keep_their_names() -> None:
    text = "[crio.nri]\nenable_nri = true\n[crio.nri.default_validator]\n"
    text += "nri_enable_default_validator = true\n[crio]\nlog_dir = '/x'\n"
    assert crio.parse(text) == {
        "crio.nri.enable_nri": True,
        "crio.nri.default_validator.nri_enable_default_validator": True,
        "crio.log_dir": "/x",
    }


def test_annotations_keep_their_case() -> None:
    text = '[crio.runtime.runtimes.a.default_annotations]\n"Run.OCI" = ""\n'
    key = "runtimes.a.default_annotations"
    assert crio.parse(text)[key] == {"Run.OCI": ""}
    assert crio.parse(text.replace("default", "DEFAULT"))[key] == {"Run.OCI": ""}


def test_a_list_that_cannot_be_read_stays_text() -> None:
    assert crio.parse('[crio.runtime]\nshared_cpuset = "0 1"\n') == {"shared_cpuset": "0 1"}
    with pytest.raises(ValueError, match="is a number, not text"):
        crio.parse("[crio.runtime]\nshared_cpuset = 3\n")


def test_no_toml_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expected"):
        crio.parse("shared_cpuset 0-1")


@pytest.mark.parametrize(
    "key", ["a" + ".a" * 100_000, '"a"' + '."a"' * 100_000, "a" + " .\t'a'" * 100_000]
)
def test_toml_of_long_keys(key: str) -> None:
    with pytest.raises(ValueError, match="a key has more than 32 parts"):
        crio.parse(f"{key} = 1\n")
    assert not crio.parse('[a.b]\nc = "1.2.3.4"  # ........................................\n')
