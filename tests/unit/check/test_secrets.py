"""What `check` reads of a node and was not planned stays there: passwords, tokens, keys."""

from pathlib import Path

import pytest

from cpuplan import pipeline
from tests.hosts import make_root
from tests.projects import make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]
SECRET = "hunter2-s3cr3t"  # noqa: S105 - looked for
CONF_D = "etc/crio/crio.conf.d"
KUBELET_D = "etc/kubernetes/kubelet.conf.d"
#: Files of the node with a fault beside a secret: what is replaced in a file that is there, or a
#: new file.
FAULTS: dict[str, dict[str, tuple[str, str] | str]] = {
    "argument differs": {
        "proc/cmdline": ("nohz_full=", f"rd.luks.key={SECRET} password={SECRET} nohz_full=0,")
    },
    "argument repeated": {
        "proc/cmdline": ("nohz_full=", f"nohz_full=3 ks.pass={SECRET} nohz_full=")
    },
    "argument missing": {"proc/cmdline": ("nohz_full=", f"ipa.token={SECRET} nohz_fool=")},
    "kubelet setting on one line": {
        f"{KUBELET_D}/99-site.conf": (
            f'{{"staticPodURLHeader": {{"A": ["{SECRET}"]}}, "cpuManagerPolicy": "none"}}\n'
        )
    },
    "kubelet file damaged": {
        f"{KUBELET_D}/99-site.conf": f"staticPodURLHeader: [Bearer {SECRET}\n'{SECRET}: : x\n"
    },
    "kubelet file with a strange value": {f"{KUBELET_D}/99-site.conf": f"a: !!int '{SECRET}'\n"},
    "crio setting on one line": {
        f"{CONF_D}/99-zzz.conf": (
            f'crio = {{ runtime = {{ infra_ctr_cpuset = "0" }}, api = {{ key = "{SECRET}" }} }}\n'
        )
    },
    "crio file damaged": {f"{CONF_D}/99-zzz.conf": f'[crio.image]\nglobal_auth_file = "{SECRET}\n'},
    "no configuration at all": {
        f"{CONF_D}/auth.json": f'{{"auths": {{"r": {{"auth": "{SECRET}"}}}}}}\n'
    },
}


@pytest.mark.parametrize(
    "options", [[], ["-v"], ["--format", "json"], ["--format", "sarif"], ["-o", "report.txt"]]
)
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_that_was_not_planned_is_printed(
    fault: str, options: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_environment(monkeypatch)
    project = make_project(tmp_path / "project")
    plan, _ = pipeline.solve(pipeline.load(project))
    root = make_root(plan.by_node["lab", "worker-0"], project / "node")
    for name, change in FAULTS[fault].items():
        path = root / name
        if isinstance(change, tuple):
            assert change[0] in path.read_text()
            path.write_text(path.read_text().replace(*change, 1))
        else:
            path.write_text(change)
    code, out, err = run_in(project, ["check", "worker-0", "--root", "node", *options], capsys)
    assert code == 1
    report = project / "report.txt"
    printed = out + err + (report.read_text() if report.exists() else "")
    assert "CP8" in printed
    assert SECRET not in printed


def test_nor_of_several_nodes(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "project")
    assert run_in(project, ["compile"], capsys)[0] == 0
    plan, _ = pipeline.solve(pipeline.load(project))
    for node in ("worker-0", "worker-1"):
        root = make_root(plan.by_node["lab", node], project / "nodes" / node)
        (root / "etc/hostname").write_text(f"{node}\n")
        line = root / "proc/cmdline"
        line.write_text(line.read_text().replace("nohz_full=", f"password={SECRET} nohz_full=0,"))
    code, out, err = run_in(project, ["check", "--root", "nodes"], capsys)
    assert code == 1
    assert "CP812" in err
    assert SECRET not in out + err
