"""Plan, boot, import, compile, repeatedly: nothing that a plan did becomes a hardware fact."""

import shutil
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.backends import configure
from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import errors
from cpuplan.plan import NodePlan
from tests.hosts import make_root
from tests.machines import trees
from tests.projects import SHARED, plain_environment, run_in
from tests.unit.importers.must_gather.test_reader import INFRASTRUCTURE, NODE, NODES

Capture = pytest.CaptureFixture[str]
CPU = "sys/devices/system/cpu"
PAGES_1G = "sys/devices/system/node/node{}/hugepages/hugepages-1048576kB/nr_hugepages"
FULL = {
    **trees.server(cores=16, memory_kb=16 * 1024 * 1024),
    **{PAGES_1G.format(node): "0\n" for node in (0, 1)},
    "proc/sys/kernel/hostname": "worker-0\n",
}
TARGETS = {
    "kubernetes": '{platform: kubernetes, version: "1.34", runtime: crio}',
    "openshift": '{platform: openshift, version: "4.20", pool: worker}',
}
POOLS = "reserved: {cores: 1, per: numaNode}, isolated: rest"
OFFLINED = f"offlined: {{cores: 4}}, {POOLS}"
SWAPPED = f'pools: {{offlined: "24-31,8-15", {POOLS}}}'
PAGES = "{size: 2M, count: 512, numaNode: 1}, {size: 1G, count: 2}"
#: By name: what the intent says, and the CPUs that do not come up with it.
WISHES = {
    "offlined": (f"pools: {{{OFFLINED}}}", ""),
    "offlined everywhere": (f"pools: {{offlined: {{cores: 1, per: numaNode}}, {POOLS}}}", ""),
    "nosmt": (f"pools: {{{POOLS}}}\n  kernel: {{extraArguments: [nosmt]}}", "16-31"),
    "nosmt by a mitigation": (
        (
            'pools: {offlined: {cpus: "16-31", wholeCores: false},'
            ' reserved: {cpus: "0-1", wholeCores: false},'
            ' isolated: {cpus: "2-15", wholeCores: false}}'
            '\n  kernel: {extraArguments: ["mitigations=auto,nosmt"]}'
        ),
        "16-31",
    ),
    "maxcpus": (f"{SWAPPED}\n  kernel: {{extraArguments: [maxcpus=24]}}", "24-31"),
    "nr_cpus": (f"{SWAPPED}\n  kernel: {{extraArguments: [nr_cpus=24]}}", "24-31"),
    "huge pages": (
        f"pools: {{{OFFLINED}}}\n  hugePages: {{defaultSize: 2M, pages: [{PAGES}]}}",
        "",
    ),
    "memory": (f"pools: {{{POOLS}}}\n  kernel: {{extraArguments: [mem=20G, crashkernel=1G]}}", ""),
}


def intent(platform: str, wish: str) -> str:
    return (
        "apiVersion: cpuplan.io/v1alpha1\nkind: Intent\nmetadata: {name: du}\nspec:\n"
        f"  selector: {{nodes: [worker-0]}}\n  targets: [{TARGETS[platform]}]\n"
        f"  {WISHES[wish][0]}\n"
    )


def booted(plan: NodePlan, wish: str, root: Path) -> Path:
    """What the machine FULL shows when it has booted with the plan."""
    never_up = CpuSet.parse_kernel(WISHES[wish][1])
    off = plan.pool("offlined").cpus | never_up
    files = trees.switched_off(FULL, off)
    if wish == "huge pages":
        files["sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"] = "512\n"
        files |= {PAGES_1G.format(node): "1\n" for node in (0, 1)}
    if wish == "memory":
        for node, kib in ((0, 15 * 1024 * 1024), (1, 3 * 1024 * 1024)):
            files[f"sys/devices/system/node/node{node}/meminfo"] = (
                f"Node {node} MemTotal: {kib} kB\n"
            )
    trees.put(
        {path: text for path, text in files.items() if path != "proc/cmdline"},
        make_root(configure(plan), root),
    )
    (root / CPU / "present").write_text("0-23\n" if wish == "nr_cpus" else "0-31\n")
    (root / CPU / "smt").mkdir(exist_ok=True)
    (root / CPU / "smt/control").write_text("off\n" if "nosmt" in wish else "on\n")
    (root / CPU / "online").write_text(f"{CpuSet(range(32)) - off}\n")
    return root


def gathered(root: Path, target: Path) -> Path:
    """A must-gather of the node: of its files only /proc and /sys."""
    files = {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] in ("proc", "sys")
    }
    del files[f"{CPU}/online"], files[f"{CPU}/present"]
    trees.put({f"{NODES}/worker-0.yaml": NODE.format(name="worker-0")}, target)
    trees.put(
        {INFRASTRUCTURE: "status: {apiServerURL: 'https://api.lab.example.com:6443'}\n"}, target
    )
    (target / "nodes/worker-0").mkdir(parents=True)
    (target / "nodes/worker-0/sysinfo.tgz").write_bytes(trees.tar(files))
    return target


def content(project: Path) -> dict[str, str]:
    return {
        str(path.relative_to(project)): path.read_text()
        for path in project.rglob("*")
        if path.is_file()
    }


def run(project: Path, *words: str, capsys: Capture) -> str:
    code, _, error = run_in(project, words, capsys)
    assert code == 0, error
    return error


def new_project(folder: Path, platform: str, wish: str, capsys: Capture) -> tuple[Path, NodePlan]:
    """A project of the machine FULL and its plan."""
    project = folder / "project"
    trees.put(FULL, folder / "full")
    trees.put({"intents/du.yaml": intent(platform, wish)}, project)
    run(project, "import", "sysroot", str(folder / "full"), "--cluster", "lab", capsys=capsys)
    run(project, "compile", capsys=capsys)
    return project, plan_of(project)


def plan_of(project: Path) -> NodePlan:
    solved, problems = pipeline.solve(pipeline.load(project))
    assert not errors(problems)
    return solved.by_node["lab", "worker-0"]


@pytest.mark.parametrize("source", ["sysroot", "must-gather"])
@pytest.mark.parametrize("platform", TARGETS)
@pytest.mark.parametrize("wish", WISHES)
def test_three_rounds(
    wish: str,
    platform: str,
    source: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain_environment(monkeypatch)
    project, plan = new_project(tmp_path, platform, wish, capsys)
    if source == "must-gather" and wish != "nr_cpus":  # the labels of the Node object come first
        gather = gathered(trees.put(FULL, tmp_path / "first"), tmp_path / "first-gather")
        run(project, "import", "must-gather", str(gather), capsys=capsys)
        run(project, "compile", capsys=capsys)
        plan = plan_of(project)
    before = content(project)
    for number in range(3):
        root = booted(plan, wish, tmp_path / f"root{number}")
        path = root if source == "sysroot" else gathered(root, tmp_path / f"gather{number}")
        if source == "must-gather" and wish == "nr_cpus":
            continue
        run(project, "import", source, str(path), capsys=capsys)
        run(project, "compile", capsys=capsys)
        assert content(project) == before
        plan = plan_of(project)


@pytest.mark.parametrize("platform", TARGETS)
@pytest.mark.parametrize("wish", ["offlined", "offlined everywhere", "huge pages"])
def test_into_a_fresh_project(wish: str, platform: str, tmp_path: Path, capsys: Capture) -> None:
    """The machine's own files tell what was planned, and the other cores where the CPUs belong."""
    project, plan = new_project(tmp_path, platform, wish, capsys)
    root = booted(plan, wish, tmp_path / "root")
    said = run(
        tmp_path, "import", "sysroot", str(root), "--cluster", "lab", "-o", "fresh", capsys=capsys
    )
    for path in (project / "inventories").iterdir():
        text = path.read_text()
        if platform == "openshift":  # of boot arguments, nobody says there who wanted them
            text = (
                text.replace("distances", "hugePages: {1Gi: 1}, distances")
                if wish == "huge pages"
                else text
            )
        assert (tmp_path / "fresh" / path.name).read_text() == text
    assert "switched off by its plan: treated as online, as in the numbering of the others" in said


def test_nosmt_into_a_fresh_project(tmp_path: Path, capsys: Capture) -> None:
    project, plan = new_project(tmp_path, "kubernetes", "nosmt", capsys)
    root = booted(plan, "nosmt", tmp_path / "root")
    run(
        tmp_path, "import", "sysroot", str(root), "--cluster", "lab", "-o", "planned", capsys=capsys
    )
    for path in (project / "inventories").iterdir():
        assert (tmp_path / "planned" / path.name).read_text() == path.read_text()
    (root / "etc/default/grub.d/50-cpuplan.cfg").unlink()
    said = run(
        tmp_path,
        "import",
        "sysroot",
        str(root),
        "--cluster",
        "lab",
        "-o",
        "unplanned",
        capsys=capsys,
    )
    assert "worker-0: booted with nosmt: CPUs 16-31 written as offline" in said
    assert (
        "offline: 16-31"
        in (tmp_path / "unplanned/hardware-xeon-gold-6330-2s-16c-16t.yaml").read_text()
    )


def test_an_inventory_that_took_the_plan_for_a_fact_is_mended(
    tmp_path: Path, capsys: Capture
) -> None:
    project, plan = new_project(tmp_path, "kubernetes", "offlined", capsys)
    good = content(project / "inventories")
    root = booted(plan, "offlined", tmp_path / "root")
    unit = root / "etc/systemd/system/set-cpus-offline.service"
    kept = unit.read_text()
    unit.unlink()
    for path in (project / "inventories").iterdir():
        path.unlink()
    run(project, "import", "sysroot", str(root), "--cluster", "lab", capsys=capsys)
    assert any("offline: " in text for text in content(project / "inventories").values())
    unit.write_text(kept)
    run(project, "import", "sysroot", str(root), capsys=capsys)
    mended = content(project / "inventories")
    # Without an inventory no target selects the node, so its runtime is a fact of the cluster.
    assert "runtime: crio\n" in mended.pop("cluster-lab.yaml")
    assert sorted(text.count("offline") for text in mended.values()) == [0, 0]
    assert sorted(map(len, mended.values())) == sorted(map(len, good.values()))


def test_a_runtime_that_a_target_states_is_no_fact_of_the_cluster(
    tmp_path: Path, capsys: Capture
) -> None:
    """What the node shows is said where it is not that of the target."""
    project, plan = new_project(tmp_path, "kubernetes", "offlined", capsys)
    before = content(project)
    root = booted(plan, "offlined", tmp_path / "root")
    shutil.move(root / "etc/crio", root / "etc/containerd")
    said = run(project, "import", "sysroot", str(root), capsys=capsys)
    assert "worker-0: has containerd, where its target states runtime: crio" in said
    assert content(project) == before
    intent_path = project / "intents/du.yaml"
    intent_path.write_text(intent_path.read_text().replace(", runtime: crio", ""))
    run(project, "import", "sysroot", str(root), capsys=capsys)
    cluster = project / "inventories/cluster-lab.yaml"
    assert cluster.read_text().endswith("spec:\n  runtime: containerd\n")
    shutil.move(root / "etc/containerd", root / "etc/crio")
    run(project, "import", "sysroot", str(root), capsys=capsys)
    assert cluster.read_text().endswith("spec:\n  runtime: crio\n")


def test_broken_cpus_are_a_fact(tmp_path: Path, capsys: Capture) -> None:
    """Beside those of the plan, CPU 3 does not come up."""
    project, plan = new_project(tmp_path, "kubernetes", "offlined", capsys)
    assert 3 not in plan.pool("offlined").cpus
    root = booted(plan, "offlined", tmp_path / "root")
    broken = trees.switched_off(FULL, plan.pool("offlined").cpus | CpuSet((3,)))
    (root / CPU / "online").write_text(broken[f"{CPU}/online"])
    said = run(project, "import", "sysroot", str(root), capsys=capsys)
    assert f"{plan.pool('offlined').cpus} switched off by its plan" in said
    assert '    offline: "3"' in "".join(content(project / "inventories").values()).replace(
        "offline: 3", 'offline: "3"'
    )


def test_a_table_of_lscpu(tmp_path: Path, capsys: Capture) -> None:
    """It has no boot arguments and no units: the project tells."""
    project, plan = new_project(tmp_path, "kubernetes", "offlined", capsys)
    before = content(project)
    off = plan.pool("offlined").cpus
    rows = [f"{cpu} {cpu % 2} {cpu % 2} {cpu % 16} yes" for cpu in range(32) if cpu not in off]
    rows += [f"{cpu} - - - no" for cpu in off]
    table = "\n".join(["CPU NODE SOCKET CORE ONLINE", *rows, ""])
    (tmp_path / "worker-0.lscpu-e.txt").write_text(table)
    run(project, "import", "lscpu", str(tmp_path / "worker-0.lscpu-e.txt"), capsys=capsys)
    run(project, "compile", capsys=capsys)
    assert content(project) == before


@pytest.mark.parametrize("host", ["kubernetes-full", "openshift-tuned"])
def test_hosts_that_were_really_booted(host: str, tmp_path: Path, capsys: Capture) -> None:
    """Over the inventory that they were planned with, and into a project without one."""
    if not SHARED.is_dir():
        pytest.skip(f"recorded data is not at {SHARED}")
    shutil.copytree(SHARED / "hosts/project", tmp_path / "project")
    for path in (tmp_path / "project/intents").iterdir():  # older than the rule on runtimes
        text = path.read_text()
        path.write_text(text.replace('version: "1.34"}', 'version: "1.34", runtime: crio}'))
    root = str(SHARED / f"hosts/{host}/root.tar.xz")
    code, _, said = run_in(tmp_path / "project", ["import", "--diff", "sysroot", root], capsys)
    assert (code, said.splitlines()[-1]) == (0, "1 node read; the inventory is up to date")
    run(tmp_path, "import", "sysroot", root, "-o", "fresh", capsys=capsys)
    planned = (
        tmp_path / "project/inventories/hardware-xeon-cascadelake-2s-8c-16t.yaml"
    ).read_text()
    fresh = (tmp_path / "fresh/hardware-xeon-cascadelake-2s-8c-16t.yaml").read_text()
    assert fresh.partition("numaNodes")[0] == planned.partition("numaNodes")[0]
    # The names of virtio interfaces have been read only since the inventory was recorded.
    assert fresh.partition("caches")[2].replace(", name: eth0", "") in planned
