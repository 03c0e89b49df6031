"""The commands as a user runs them: what they print, what they write, and how they end."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.language.read.documents import KINDS
from tests.hosts import make_root
from tests.machines import trees
from tests.projects import REPOSITORY, make_project, plain_environment, run_in


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


Capture = pytest.CaptureFixture[str]
INTENT = "intents/main.yaml"


def edit(project: Path, old: str, new: str, name: str = INTENT) -> None:
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new))


def test_a_new_project_compiles_as_it_is(tmp_path: Path, capsys: Capture) -> None:
    assert run_in(tmp_path, ["init", "first"], capsys)[0] == 0
    code, out, err = run_in(tmp_path, ["-C", "first", "compile"], capsys)
    assert (code, out) == (0, "")
    assert err == "4 nodes in 1 class; out/: 18 added\n"
    assert run_in(tmp_path, ["-C", "first", "fmt", "--check"], capsys)[0] == 0
    code, out, _ = run_in(tmp_path, ["-C", "first", "show", "worker-2"], capsys)
    assert code == 0
    assert "R  reserved    8 CPUs  0-1,32-33,64-65,96-97" in out


def test_init_overwrites_nothing(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "intents").mkdir()
    (tmp_path / "intents/example.yaml").write_text("mine")
    code, _, err = run_in(tmp_path, ["init"], capsys)
    assert code == 2
    assert "error[CP621]: intents/example.yaml already exists" in err
    assert (tmp_path / "intents/example.yaml").read_text() == "mine"
    assert not (tmp_path / "inventories").exists()


def test_validate_takes_a_file_beside_the_project(project: Path, capsys: Capture) -> None:
    (project / INTENT).rename(project.parent / "main.yaml")
    code, _, err = run_in(project, ["validate", "../main.yaml"], capsys)
    assert (code, err) == (0, "valid: 2 nodes in 1 class, each with a layout\n")


def test_validate_writes_nothing(project: Path, capsys: Capture) -> None:
    before = sorted(project.rglob("*"))
    code, out, err = run_in(project, ["validate"], capsys)
    assert (code, out, err) == (
        0,
        "",
        "valid: 2 nodes in 1 class, each with a layout\n",
    )
    assert sorted(project.rglob("*")) == before


def test_compile_then_nothing_has_changed(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    assert run_in(project, ["compile"], capsys)[0] == 0
    assert run_in(project, ["compile"], capsys) == (
        0,
        "",
        "nothing has changed: out/ is up to date\n",
    )
    assert run_in(project, ["compile", "--check"], capsys) == (0, "", "out/ is up to date\n")


def test_check_says_what_is_stale(project: Path, capsys: Capture) -> None:
    run_in(project, ["compile"], capsys)
    edit(project, "cores: 1", "cores: 2")
    lock = (project / "intents/plan.lock.yaml").read_text()
    code, _, err = run_in(project, ["compile", "--check"], capsys)
    assert code == 3
    assert "error[CP620]: intents/plan.lock.yaml does not match" in err
    assert "error[CP609]" in err
    assert (project / "intents/plan.lock.yaml").read_text() == lock


def test_a_comment_makes_nothing_stale(project: Path, capsys: Capture) -> None:
    run_in(project, ["compile"], capsys)
    edit(project, "spec:", "# reviewed\nspec:")
    assert run_in(project, ["compile", "--check"], capsys)[0] == 0


def test_errors_leave_the_tree_alone(project: Path, capsys: Capture) -> None:
    run_in(project, ["compile"], capsys)
    before = {path: path.read_bytes() for path in (project / "out").rglob("*") if path.is_file()}
    edit(project, "cores: 1", "cores: 5")
    code, _, err = run_in(project, ["compile"], capsys)
    assert code == 1
    assert "error[CP401]" in err
    assert {
        path: path.read_bytes() for path in (project / "out").rglob("*") if path.is_file()
    } == before


def test_foreign_files_stay_and_own_files_go(project: Path, capsys: Capture) -> None:
    run_in(project, ["compile"], capsys)
    (project / "out/README.md").write_text("mine")
    edit(project, "name: main", "name: other")
    assert run_in(project, ["compile"], capsys)[0] == 0
    assert (project / "out/README.md").read_text() == "mine"
    assert not (project / "out/nodes/lab/main-small").exists()
    assert (project / "out/nodes/lab/other-small").exists()


def test_an_edited_file_is_an_error_unless_forced(project: Path, capsys: Capture) -> None:
    run_in(project, ["compile"], capsys)
    edited = project / "out/nodes/lab/main-small/cmdline"
    edited.write_text("mine")
    code, _, err = run_in(project, ["compile"], capsys)
    assert code == 2
    assert "CP603" in err
    assert edited.read_text() == "mine"
    assert run_in(project, ["compile", "--force"], capsys)[0] == 0
    assert edited.read_text() != "mine"


def test_another_run_is_writing(project: Path, capsys: Capture) -> None:
    folder = os.open(project, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    code, _, err = run_in(project, ["compile"], capsys)
    os.close(folder)
    assert code == 5
    assert "CP606" in err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["complie"], "Did you mean 'compile'?"),
        (["compile", "--chekc"], "Did you mean one of: '--check'"),
        (["-C", "nowhere", "compile"], "does not exist"),
        (["explain", "worker-0"], "missing CPU, pool or setting"),
        (["explain", "CP999"], "unknown code CP999"),
        (["explain", "cpu0-resrved"], "did you mean cpu0-reserved?"),
        (["import", "nowhere"], "no such file or folder: 'nowhere'"),
        (
            ["import", "hwlok", "."],
            "'hwlok' is not a file, a folder or one of the formats sysroot, must-gather",
        ),
        (
            ["import", ".", "--diff", "--stdout"],
            "--diff compares hardware with an inventory and cannot be used with --stdout",
        ),
        (["import", "performanceprofile", ".", "--diff"], "cannot be used with performanceprofile"),
        (["import", "sysroot"], "missing path: cpuplan import sysroot PATH..."),
    ],
)
def test_usage(project: Path, capsys: Capture, arguments: list[str], hint: str) -> None:
    code, out, err = run_in(project, arguments, capsys)
    assert (code, out) == (2, "")
    assert hint in err


def test_a_bug_is_no_traceback(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Path) -> None:
        raise RuntimeError("the moon is full")

    monkeypatch.setattr(pipeline, "load", fail)
    code, _, err = run_in(project, ["validate"], capsys)
    assert code == 70
    assert "error[CP901]: cpuplan failed: RuntimeError: the moon is full" in err
    assert "Traceback" not in err


def test_explain_what_the_kernel_does(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["explain", "worker-0", "kernel"], capsys)
    assert code == 0
    assert out.startswith("What Linux 6.12 makes of the boot arguments of worker-0:\n")


@pytest.mark.parametrize("what", ["3", "reserved", "cpuManagerPolicy"])
def test_a_project_that_is_wrong_explains_nothing(
    project: Path, capsys: Capture, what: str
) -> None:
    (project / INTENT).write_text("kind: Intent\n")
    code, out, err = run_in(project, ["explain", "worker-0", what], capsys)
    assert (code, out) == (1, "")
    assert "error[" in err


def test_explain_a_cpu(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["explain", "worker-0", "3"], capsys)
    assert code == 0
    assert "CPU 3 of worker-0 is isolated." in out
    assert "intents/main.yaml:14:15" in out
    assert "isolcpus" in out
    assert "reservedSystemCPUs" not in out


def test_explain_a_pool_and_what_else_it_could_have(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["explain", "worker-0", "isolated"], capsys)
    assert code == 0
    assert "\nother CPUs in isolated" in out
    short = run_in(project, ["explain", "--no-alternatives", "worker-0", "isolated"], capsys)[1]
    assert out.startswith(short)
    assert len(short) < len(out)


def test_explain_a_setting(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["explain", "worker-0", "kubelet.reservedSystemCPUs"], capsys)
    assert code == 0
    assert out.startswith(
        "reservedSystemCPUs of kubelet on worker-0 is 0,4,8,12. That is reserved."
    )
    assert run_in(project, ["explain", "worker-0", "reservedSystemCPUs"], capsys)[1] == out


@pytest.mark.parametrize("name", ["systemReserved", "kubeReserved", "evictionHard"])
def test_explain_a_setting_that_nobody_asked_for(project: Path, capsys: Capture, name: str) -> None:
    """How to have it."""
    code, out, err = run_in(project, ["explain", "worker-0", name], capsys)
    assert code == 2
    assert (
        f"it is not set, because it is not a default of kubernetes; to set it: `kubelet: {{{name}"
        in out + err
    )


def test_explain_a_mapping_of_settings(project: Path, capsys: Capture) -> None:
    kubelet = '  kubelet: {systemReserved: {memory: 2Gi, pid: "9"}}\n'
    edit(project, "  pools:\n", f"{kubelet}  pools:\n")
    code, out, _ = run_in(project, ["explain", "worker-0", "systemReserved"], capsys)
    assert code == 0
    assert "systemReserved.memory of kubelet on worker-0 is 2Gi." in out
    assert "systemReserved.pid of kubelet on worker-0 is 9." in out


def test_explain_a_rule(capsys: Capture) -> None:
    code, out, _ = run_in(REPOSITORY, ["explain", "cpu0-reserved"], capsys)
    assert code == 0
    assert out.startswith("rule cpu0-reserved: CPU 0 stays in reserved")


def test_explain_a_code(capsys: Capture) -> None:
    code, out, _ = run_in(REPOSITORY, ["explain", "cp401"], capsys)
    assert code == 0
    assert out.startswith("CP401")


@pytest.mark.parametrize("wanted", ["worker-0", "lab/worker-0"])
def test_nodes_by_name(project: Path, capsys: Capture, wanted: str) -> None:
    assert run_in(project, ["show", wanted], capsys)[0] == 0


def test_nodes_of_one_name_in_two_clusters(project: Path, capsys: Capture) -> None:
    site = (project / "inventories/site.yaml").read_text()
    nodes = site[site.index("---\n") :].replace("lab\n", "far\n")
    (project / "inventories/far.yaml").write_text(nodes.removeprefix("---\n"))
    code, _, err = run_in(project, ["show", "worker-0"], capsys)
    assert code == 2
    assert "use far/worker-0 or lab/worker-0" in err
    assert run_in(project, ["show", "far/worker-0"], capsys)[0] == 0


def test_no_colour_in_a_pipe(project: Path, capsys: Capture) -> None:
    assert "\x1b" not in run_in(project, ["show", "worker-0"], capsys)[1]
    assert "\x1b" in run_in(project, ["--color", "always", "show", "worker-0"], capsys)[1]


def test_json(project: Path, capsys: Capture) -> None:
    edit(project, "cores: 1", "cores: x")
    code, out, err = run_in(project, ["validate", "--format", "json"], capsys)
    assert (code, err) == (1, "")
    findings = json.loads(out)["diagnostics"]
    assert [
        (finding["code"], finding["file"], finding["line"], finding["column"])
        for finding in findings
    ] == [
        ("CP203", INTENT, 13, 23),
    ]


def test_sarif_without_findings(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["validate", "--format", "sarif"], capsys)
    assert code == 0
    assert json.loads(out)["runs"][0]["results"] == []


def test_check_a_node(project: Path, capsys: Capture) -> None:
    plan, _ = pipeline.solve(pipeline.load(project))
    root = make_root(plan.nodes[0], project / "root")
    run_in(project, ["compile"], capsys)
    assert run_in(project, ["check", "worker-0", "--root", "root"], capsys)[0] == 0
    edit(root, "nohz_full=1-3", "nohz_full=2-3", "proc/cmdline")
    code, _, err = run_in(project, ["check", "worker-0", "--root", "root"], capsys)
    assert code == 1
    assert "error[CP812]: the node was booted with nohz_full=2-3," in err


def test_fmt_keeps_comments_and_orders_keys(project: Path, capsys: Capture) -> None:
    (project / INTENT).write_text(
        "kind: Intent # one\napiVersion: cpuplan.io/v1alpha1\nspec:\n"
        '  pools: {isolated: rest, reserved: "0,8"} # two\n'
        '  targets:\n  - version: "1.33"\n    platform: kubernetes\n  selector: {}\n'
        "metadata:\n  name: main\n"
    )
    assert run_in(project, ["fmt", "--check"], capsys)[0] == 3
    assert run_in(project, ["fmt"], capsys)[0] == 0
    assert (project / INTENT).read_text() == (
        "# yaml-language-server: $schema=../schemas/intent.schema.json\n"
        "apiVersion: cpuplan.io/v1alpha1\nkind: Intent # one\nmetadata:\n  name: main\n"
        "spec:\n  selector: {}\n"
        '  targets:\n  - platform: kubernetes\n    version: "1.33"\n'
        '  pools: {reserved: "0,8", isolated: rest} # two\n'
    )
    assert run_in(project, ["fmt", "--check"], capsys)[0] == 0


def test_import_again(project: Path, capsys: Capture) -> None:
    """A first import writes, and another one changes nothing.

    After an edit it shows the difference, and writes it.
    """
    trees.put(trees.server(), project / "dump")
    arguments = ["import", "dump", "-o", "inventories/new"]
    code, out, err = run_in(project, arguments, capsys)
    assert (code, out) == (0, "")
    assert "wrote inventories/new/nodes-default.yaml" in err
    code, out, err = run_in(project, arguments, capsys)
    assert (code, out) == (0, "")
    assert err.endswith("1 node read; the inventory is up to date\n")
    path = "inventories/new/hardware-xeon-gold-6330-2s-4c-8t.yaml"
    edit(project, "modelNumber: 106", "modelNumber: 85 # Cascade Lake?", path)
    before = (project / path).read_text()
    code, out, _ = run_in(project, [*arguments, "--diff"], capsys)
    assert code == 3
    assert "\n-  modelNumber: 85 # Cascade Lake?\n+  modelNumber: 106 # Cascade Lake?\n" in out
    assert (project / path).read_text() == before
    assert (
        "\x1b[32m+  modelNumber"
        in run_in(project, ["--color", "always", *arguments, "--diff"], capsys)[1]
    )
    code, shown, err = run_in(project, arguments, capsys)
    assert (code, shown) == (0, out)
    assert f"changed {path}\n" in err
    assert (project / path).read_text() == before.replace("85", "106")
    assert run_in(project, [*arguments, "--diff"], capsys)[0] == 0


def test_import_over_a_broken_inventory(project: Path, capsys: Capture) -> None:
    """What may be the document that is imported must be read first."""
    trees.put(trees.server(), project / "dump")
    (project / "inventories/more.yaml").write_text("kind: [\n")
    code, _, err = run_in(project, ["import", "dump"], capsys)
    assert code == 1
    assert "error[CP101]" in err
    assert not list((project / "inventories").glob("hardware-*"))


def test_import_anew(project: Path, capsys: Capture) -> None:
    """--force drops edits, and shows them."""
    trees.put(trees.server(), project / "dump")
    assert run_in(project, ["import", "dump"], capsys)[0] == 0
    path = "inventories/hardware-xeon-gold-6330-2s-4c-8t.yaml"
    edit(project, "  vendor", "  # who made it\n  vendor", path)
    code, out, _ = run_in(project, ["import", "dump", "--force"], capsys)
    assert code == 0
    assert "-  # who made it" in out
    assert "# who made it" not in (project / path).read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_schema(kind: str, capsys: Capture) -> None:
    for written in (kind, kind.lower()):
        code, out, _ = run_in(REPOSITORY, ["schema", written], capsys)
        assert code == 0
        assert json.loads(out)["title"] == kind
        assert out == (REPOSITORY / f"schemas/{kind.lower()}.schema.json").read_text()


def test_show_hardware(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["show", "small"], capsys)
    assert code == 0
    assert out.startswith("small\nGenuineIntel, x86_64\n16 CPUs, 8 cores, 2 sockets")
    assert "┌─ socket 0, NUMA node 0, 16 GiB, L3 ─┐" in out
    code, out, _ = run_in(project, ["show", "small", "--svg", "small.svg"], capsys)
    assert (code, out) == (0, "")
    assert "<title>CPUs of small</title>" in (project / "small.svg").read_text()


def test_hardware_is_drawn_whatever_else_is_wrong(project: Path, capsys: Capture) -> None:
    (project / INTENT).unlink()
    assert run_in(project, ["show", "small"], capsys)[0] == 0
    edit(
        project,
        "coresPerSocket: 4",
        "coresPerSocket: 4\n    diesPerSocket: 3",
        "inventories/site.yaml",
    )
    code, out, err = run_in(project, ["show", "small"], capsys)
    assert (code, out) == (1, "")
    assert (
        "error[CP302]: the 4 cores of a socket cannot be divided into 3 dies\n"
        "  --> inventories/site.yaml:"
    ) in err


def test_a_node_comes_before_hardware_of_its_name(project: Path, capsys: Capture) -> None:
    edit(project, "worker-[0-1]", "small", "inventories/site.yaml")
    assert " R  reserved" in run_in(project, ["show", "small"], capsys)[1]
    assert " R  reserved" not in run_in(project, ["show", "Hardware/small"], capsys)[1]


def test_show_what_an_import_would_read(tmp_path: Path, capsys: Capture) -> None:
    trees.put(trees.server(), tmp_path / "host-a")
    code, out, _ = run_in(tmp_path, ["show", "--import", "host-a"], capsys)
    assert code == 0
    assert "┌─ socket 0, NUMA node 0, 1 GiB, L3 0 ─" in out
    assert not (tmp_path / "inventories").exists()
    assert run_in(tmp_path, ["show", "--import", "host-a", "host-a"], capsys)[1] == out
    code, _, err = run_in(tmp_path, ["show", "--import", "host-a", "host-b"], capsys)
    assert code == 2
    assert "no hardware or node 'host-b'" in err


def test_the_catalogue_is_listed_shown_and_copied(tmp_path: Path, capsys: Capture) -> None:
    code, out, _ = run_in(tmp_path, ["catalog"], capsys)
    assert code == 0
    assert "epyc-9654-2s-nps4  " in out
    code, shown, _ = run_in(tmp_path, ["show", "epyc-9654-2s-nps4"], capsys)
    assert code == 0
    assert "384 CPUs, 192 cores, 2 sockets, 8 NUMA nodes, 24 last-level caches" in shown
    code, _, err = run_in(tmp_path, ["catalog", "epyc-9654-2s-nps4", "gh200-1s"], capsys)
    assert (code, err) == (
        0,
        "wrote inventories/epyc-9654-2s-nps4.yaml\nwrote inventories/gh200-1s.yaml\n",
    )
    assert run_in(tmp_path, ["show", "epyc-9654-2s-nps4"], capsys)[1] == shown
    assert run_in(tmp_path, ["fmt", "--check"], capsys)[0] == 0
    assert run_in(tmp_path, ["validate"], capsys)[0] == 0


def test_a_copy_that_was_edited_is_kept(tmp_path: Path, capsys: Capture) -> None:
    run_in(tmp_path, ["catalog", "gh200-1s"], capsys)
    edit(tmp_path, "coresPerSocket: 72", "coresPerSocket: 71", "inventories/gh200-1s.yaml")
    code, _, err = run_in(tmp_path, ["catalog", "gh200-1s"], capsys)
    assert code == 2
    assert "error[CP621]: inventories/gh200-1s.yaml already exists" in err
    assert run_in(tmp_path, ["catalog", "gh200-1s", "--force"], capsys)[0] == 0
    assert "coresPerSocket: 72" in (tmp_path / "inventories/gh200-1s.yaml").read_text()


def test_an_inventorys_node_without_an_intent(project: Path, capsys: Capture) -> None:
    site = (project / "inventories/site.yaml").read_text()
    nodes = (
        site[site.index("---\n") :]
        .replace("name: lab", "name: spare")
        .replace("worker-[0-1]", "spare")
    )
    spare = nodes.replace("    labels: {role: worker}\n", "")
    (project / "inventories/spare.yaml").write_text(spare)
    for arguments in (["show", "spare"], ["simulate", "spare", "pods.yaml"]):
        (project / "pods.yaml").write_text("")
        code, _, err = run_in(project, arguments, capsys)
        assert code == 2
        assert "error[CP250]: no intent selects node 'spare'" in err


def test_a_folder_without_profiles(project: Path, capsys: Capture) -> None:
    (project / "profiles").mkdir()
    code, _, err = run_in(project, ["import", "performanceprofile", "profiles"], capsys)
    assert code == 1
    assert "error[CP127]: no PerformanceProfile in profiles" in err
    assert "CP109" not in err


def test_profiles_in_json(project: Path, capsys: Capture) -> None:
    """`oc get -o json` indents with blanks, other tools with tabs; a folder has either."""
    profile = {
        "apiVersion": "performance.openshift.io/v2",
        "kind": "PerformanceProfile",
        "metadata": {"name": "low-latency"},
        "spec": {
            "cpu": {"reserved": "0-1", "isolated": "2-7"},
            "nodeSelector": {"node-role.kubernetes.io/worker": ""},
        },
    }
    (project / "profiles").mkdir()
    (project / "profiles/worker.json").write_text(json.dumps(profile, indent="\t"))
    arguments = ["import", "performanceprofile", "profiles", "--release", "4.20", "--stdout"]
    code, out, err = run_in(project, arguments, capsys)
    assert (code, "name: low-latency" in out) == (0, True), err


@pytest.mark.parametrize(
    ("policy", "annotation", "is_told"),
    [
        ("restricted", None, True),
        ("single-numa-node", None, True),
        ("best-effort", None, False),
        (
            "restricted",
            '{"reservedMemory": [{"numaNode": 0, "limits": {"memory": "1100Mi"}}]}',
            False,
        ),
    ],
)
def test_where_the_memory_of_a_profile_is_reserved(
    project: Path, capsys: Capture, policy: str, annotation: str | None, is_told: bool
) -> None:
    """The operator reserves it on NUMA node 0, unless a snippet says where."""
    annotations = {"kubeletconfig.experimental": annotation} if annotation else {}
    profile = {
        "apiVersion": "performance.openshift.io/v2",
        "kind": "PerformanceProfile",
        "metadata": {"name": "low-latency", "annotations": annotations},
        "spec": {
            "cpu": {"reserved": "0-1", "isolated": "2-7"},
            "nodeSelector": {"node-role.kubernetes.io/worker": ""},
            "numa": {"topologyPolicy": policy},
        },
    }
    (project / "profile.json").write_text(json.dumps(profile))
    arguments = ["import", "performanceprofile", "profile.json", "--release", "4.20"]
    code, _, err = run_in(project, arguments, capsys)
    assert code == 0, err
    assert ("note: intent low-latency: memory is reserved on the NUMA nodes" in err) is is_told


def test_a_kubeletconfig_of_openshift_is_no_kubelets_file(project: Path, capsys: Capture) -> None:
    (project / "kc.yaml").write_text(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
        "metadata: {name: a}\nspec:\n"
        "  kubeletConfig:\n    apiVersion: kubelet.config.k8s.io/v1beta1\n"
        "    kind: KubeletConfiguration\n"
    )
    code, _, err = run_in(project, ["validate", "kc.yaml"], capsys)
    assert code == 0
    assert "CP" not in err


def test_a_kubelets_file_is_checked_for_the_cgroups_of_the_nodes(
    project: Path, capsys: Capture
) -> None:
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    (project / "kubelet.yaml").write_text(f"{head}failCgroupV1: true\n")
    arguments = ["validate", "kubelet.yaml", "--target", "kubernetes/1.34"]
    assert run_in(project, arguments, capsys)[0] == 0
    (project / "inventories/clusters.yaml").write_text(
        "apiVersion: cpuplan.io/v1alpha1\nkind: Cluster\n"
        "metadata: {name: lab}\nspec: {cgroupMode: v1}\n"
    )
    code, _, err = run_in(project, arguments, capsys)
    assert (code, "host using cgroup v1" in err) == (1, True)


PROFILE = """\
apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: low}
spec:
  cpu: {reserved: "0-1", isolated: "2-7"}
  nodeSelector: {node-role.kubernetes.io/low: ""}
"""
VERSION_OBJECT = (
    "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\n"
    'status: {desired: {version: "4.19.7"}}\n'
)


def openshift_intent(name: str, release: str) -> str:
    return (
        f"apiVersion: cpuplan.io/v1alpha1\nkind: Intent\nmetadata: {{name: {name}}}\nspec:\n"
        f"  selector: {{nodes: [{name}]}}\n"
        f'  targets: [{{platform: openshift, version: "{release}", pool: {name}}}]\n'
        "  pools: {reserved: {cores: 1}, isolated: rest}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "beside", "expected"),
    [
        (["--release", "4.18"], {}, '"4.18"'),
        ([], {"profiles/v.yaml": VERSION_OBJECT}, '"4.19"'),
        (
            [],
            {
                "intents/a.yaml": openshift_intent("a", "4.17"),
                "intents/b.yaml": openshift_intent("b", "4.17"),
            },
            "4.17",
        ),
        (
            [],
            {},
            (
                "unknown release of OpenShift: "
                "a PerformanceProfile does not contain it; give it with --release"
            ),
        ),
        (
            [],
            {
                "intents/a.yaml": openshift_intent("a", "4.17"),
                "intents/b.yaml": openshift_intent("b", "4.18"),
            },
            "the project has targets of 4.17 and 4.18; give it with --release",
        ),
        (["--release", "3.11"], {}, "error[CP501]"),
    ],
)
def test_the_release_of_an_imported_profile(
    arguments: list[str], beside: dict[str, str], expected: str, tmp_path: Path, capsys: Capture
) -> None:
    for path, text in {"profiles/low.yaml": PROFILE, **beside}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    code, _, err = run_in(
        tmp_path, ["import", "performanceprofile", "profiles", *arguments], capsys
    )
    if " " in expected or "CP" in expected:
        assert code in (1, 2)
        assert expected in err
        assert not (tmp_path / "intents/low.yaml").exists()
    else:
        assert code == 0, err
        assert f"version: {expected}" in (tmp_path / "intents/low.yaml").read_text().replace(
            ': "4.17"', ": 4.17"
        )


def test_a_release_of_hardware(project: Path, capsys: Capture) -> None:
    code, _, err = run_in(project, ["import", "intents", "--release", "4.20"], capsys)
    assert code == 2
    assert "--release is only for performanceprofile" in err


def test_what_a_cluster_was_named_after(tmp_path: Path, capsys: Capture) -> None:
    trees.put(trees.server(), tmp_path / "dump")
    run_in(tmp_path, ["init"], capsys)
    for options, said in (
        (
            [],
            (
                "note: cluster default (1 node): its name is unknown; "
                "--cluster NAME gives it another name"
            ),
        ),
        (
            ["--stdout"],
            (
                "note: cluster default (1 node): its name is unknown; "
                "--cluster NAME gives it another name"
            ),
        ),
        (["--cluster", "lab"], ""),
    ):
        _, _, err = run_in(
            tmp_path, ["import", "dump", "-o", f"to{len(options)}", *options], capsys
        )
        assert (said in err) if said else ("cluster" not in err)
    example = "inventories/example.yaml is still the example of `cpuplan init`"
    assert example in err
    (tmp_path / "inventories/example.yaml").unlink()
    assert example not in run_in(tmp_path, ["import", "dump"], capsys)[2]
