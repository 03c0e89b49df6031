"""Importing again over an inventory that people have edited."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers.base import DeviceFacts, Imported, Machine, Node
from cpuplan.importers.documents.kinds import kinds_of
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import TarTree
from cpuplan.write.inventory import nodes as inventory
from cpuplan.write.inventory.update import Update
from cpuplan.write.inventory.update import update as update_inventory
from tests.machines import trees

NIC = DeviceFacts("0000:18:00.0", 0x020000, "0x8086", "0x1592", 0, driver="ice")
GPU = DeviceFacts("0000:3b:00.0", 0x030200, "0x10de", "0x20b5", 1)
NAME = "xeon-gold-6330-2s-4c-8t"


def server(*devices: DeviceFacts, memory_kb: int = 1024 * 1024) -> Machine:
    machine, _, _ = sysroot.read_machine(TarTree(trees.tar(trees.server(memory_kb=memory_kb)), "a"))
    assert machine is not None
    return machine._replace(devices=devices)


def run(
    folder: Path,
    machines: dict[str, Machine],
    cluster: str | None = "lab",
    facts: Mapping[str, Any] = {},
) -> Update:
    """Import the machines by node name and write what changes."""
    nodes = [
        Node(name, machine, {}, cluster, cluster_facts=facts)
        for name, machine in sorted(machines.items())
    ]
    made = Imported(tuple(nodes))
    known, problems = inventory.read(folder)
    assert not problems
    update = update_inventory(known, kinds_of(made), folder, "{kind}\n")
    assert not update.diagnostics
    for path, (_, text) in update.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return update


def names(update: Update) -> list[str]:
    return sorted(path.name for path in update.files)


def edit(path: Path, *pairs: tuple[str, str]) -> str:
    text = path.read_text()
    for old, new in pairs:
        assert old in text, text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return text


def test_facts_about_a_cluster_go_to_its_document(tmp_path: Path) -> None:
    machines = {"w0": server(NIC)}
    facts = {"featureSet": "TechPreviewNoUpgrade"}
    assert "cluster-lab.yaml" in names(run(tmp_path, machines, facts=facts))
    assert run(tmp_path, machines, facts=facts) == Update({})
    document = tmp_path / "cluster-lab.yaml"
    edit(document, ("featureSet: TechPreviewNoUpgrade", 'version: "4.21" # newer'))
    assert names(run(tmp_path, machines, facts=facts)) == ["cluster-lab.yaml"]
    assert 'version: "4.21" # newer' in document.read_text()
    assert "featureSet: TechPreviewNoUpgrade" in document.read_text()


def test_comments_stay_and_those_that_go_are_named(tmp_path: Path) -> None:
    machines = {"w1": server(NIC, GPU), "w2": server(NIC, GPU)}
    run(tmp_path, machines)
    nodes = tmp_path / "nodes-lab.yaml"
    text = nodes.read_text()
    head = text[: text.index("  - ")]
    nodes.write_text(
        f"{head}  - {{name: w1}}\n  # keep: rack 2\n  - {{name: w2}} # new disk\n  - {{name: w3}}\n"
    )
    update = run(tmp_path, {**machines, "w4": server(NIC, GPU)})
    assert "  - {name: w1}\n  # keep: rack 2\n  - {name: w2} # new disk\n" in nodes.read_text()
    assert not [note for note in update.notes if "comment" in note]
    hardware = tmp_path / f"hardware-{NAME}.yaml"
    lines = hardware.read_text().splitlines()
    (at,) = [number for number, line in enumerate(lines) if "0000:3b:00.0" in line]
    lines[at] += " # slot 3"
    hardware.write_text("\n".join(lines) + "\n")
    update = run(tmp_path, dict.fromkeys(("w1", "w2", "w3", "w4"), server(NIC)))
    assert [note for note in update.notes if "# slot 3" in note] == [
        f"{hardware}:{at + 1}: the comment '# slot 3' is removed with what it stood with"
    ]


def test_first_import_and_again(tmp_path: Path) -> None:
    machines = {"w0": server(NIC), "w1": server(NIC)}
    assert names(run(tmp_path, machines)) == [f"hardware-{NAME}.yaml", "nodes-lab.yaml"]
    assert run(tmp_path, machines) == Update({})


def test_edits_stay(tmp_path: Path) -> None:
    """Names, places, comments, order, style and own fields stay: not a byte changes."""
    machines = {"w0": server(NIC, GPU), "w1": server(NIC, GPU)}
    run(tmp_path, machines)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    gold = (tmp_path / f"hardware-{NAME}.yaml").rename(tmp_path / "deep" / "er" / "all.yml")
    edit(
        gold,
        (f"  name: {NAME}\n", "  # bought in 2024\n  name: gold # ours\n  labels: {room: a}\n"),
        ("  vendor: GenuineIntel\n", ""),
        (
            "  hugePageSizes: [2Mi]\n",
            "  hugePageSizes: [ 2048Ki ]   # as text\n\n  vendor: 'GenuineIntel'\n",
        ),
        ('cpus: "0-6:1/2", memory: 1Gi', 'memory: 1024Mi, cpus: "0,2,4,6"'),
        ("    sockets:\n", "    # the sockets\n    sockets:\n      # one\n"),
        ("driver: ice", "driver: ice, name: ens1f0"),
        ("  devices:\n", "\n\n  devices: # cards\n  # the first\n"),
    )
    edit(
        tmp_path / "nodes-lab.yaml",
        (NAME, "gold"),
        ("name: lab", "name: my-lab"),
        ("  nodes:", "  # all\n  nodes:"),
    )
    (tmp_path / "notes.yaml").write_text("# nothing yet\n")
    assert run(tmp_path, machines) == Update({})
    assert run(tmp_path, machines, cluster=None) == Update({})


def test_removed_device(tmp_path: Path) -> None:
    run(tmp_path, {"w0": server(NIC, GPU)})
    path = tmp_path / f"hardware-{NAME}.yaml"
    text = edit(
        path,
        (NAME, "gold"),
        ("  devices:\n", "  devices:\n  # the first\n"),
        ('\n  - {address: "0000:3b', '\n  # the second\n  - {address: "0000:3b'),
    )
    edit(tmp_path / "nodes-lab.yaml", (NAME, "gold"))
    update = run(tmp_path, {"w0": server(GPU)})
    lines = [line for line in text.splitlines() if "0000:18" not in line]
    assert update.files == {path: (text, "\n".join(lines) + "\n")}


def test_one_of_many(tmp_path: Path) -> None:
    """What one node has changes no document of others: it gets a document of its own."""
    run(tmp_path, {f"w{number}": server(NIC) for number in range(4)})
    assert run(tmp_path, {"w2": server(NIC)}).files == {}
    update = run(tmp_path, {"w2": server(NIC, GPU)})
    other = next(name for name in names(update) if name.startswith("hardware"))
    assert other.startswith(f"hardware-{NAME}-")
    assert len(update.files) == 2
    nodes = (tmp_path / "nodes-lab.yaml").read_text()
    assert (
        f'- {{name: "w[0-1]"}}\n  - {{name: w3}}\n  - {{name: w2, hardware: {other[9:-5]}}}\n'
        in nodes
    )
    assert update.notes == (
        f"w2: different from the Hardware {NAME} of other nodes; it is named {other[9:-5]}",
        "cluster lab has nodes that were not read, which are unchanged: w[0-1], w3",
    )
    assert run(tmp_path, {"w2": server(NIC, GPU)}).files == {}
    # When all of its nodes were read, a document changes.
    assert names(run(tmp_path, {f"w{number}": server(NIC, GPU) for number in range(4)})) == [
        "nodes-lab.yaml"
    ]


def test_all_changed(tmp_path: Path) -> None:
    """Where all nodes change, their document becomes that of most of them.

    All got a card, and one more memory.
    """
    run(tmp_path, {f"w{number}": server(NIC) for number in range(4)})
    path = tmp_path / f"hardware-{NAME}.yaml"
    edit(path, (NAME, "gold"), ("model:", "# ours\n  model:"))
    edit(tmp_path / "nodes-lab.yaml", (NAME, "gold"))
    large = server(NIC, GPU, memory_kb=4 * 1024 * 1024)
    update = run(tmp_path, {"w3": large} | {f"w{number}": server(NIC, GPU) for number in range(3)})
    text = path.read_text()
    assert len(update.files) == 3
    assert "name: gold\n" in text
    assert "# ours" in text
    assert "0000:3b" in text
    assert "memory: 1Gi" in text
    assert (
        run(tmp_path, {"w3": large} | {f"w{number}": server(NIC, GPU) for number in range(3)}).files
        == {}
    )


def test_new_and_lost_nodes(tmp_path: Path) -> None:
    run(tmp_path, {"w0": server(NIC), "w1": server(NIC)})
    update = run(tmp_path, {"w1": server(NIC), "w2": server(NIC), "db": server(NIC)})
    assert names(update) == ["nodes-lab.yaml"]
    assert (
        '  nodes:\n  - {name: "w[0-2]"}\n  - {name: db}\n'
        in (tmp_path / "nodes-lab.yaml").read_text()
    )
    assert update.notes == ("cluster lab has nodes that were not read, which are unchanged: w0",)


def test_by_hand(tmp_path: Path) -> None:
    """A regular machine of a catalogue is not rewritten when a node of it is read."""
    text = (
        "apiVersion: cpuplan.io/v1alpha1\nkind: Hardware\nmetadata: {name: gold}\nspec:\n"
        "  regular: {coresPerSocket: 4}\n---\napiVersion: cpuplan.io/v1alpha1\n"
        "kind: Nodes\nmetadata: {name: lab}\n"
        "spec:\n  cluster: lab\n  hardware: gold # for now\n  nodes: [{name: w0}]\n"
    )
    (tmp_path / "site.yaml").write_text(text)
    update = run(tmp_path, {"w0": server(NIC)})
    assert names(update) == [f"hardware-{NAME}.yaml", "site.yaml"]
    assert (tmp_path / "site.yaml").read_text() == text.replace(
        "hardware: gold", f"hardware: {NAME}"
    )
    assert update.notes == (
        "Hardware gold is of no node any more: remove it if you do not need it",
    )


def test_less_is_told(tmp_path: Path) -> None:
    """A format that tells less takes nothing away."""
    machine = server(NIC)
    run(tmp_path, {"w0": machine})
    bare = machine._replace(devices=(), huge_page_sizes=(), core_ids={}, kubelet=None)
    assert run(tmp_path, {"w0": bare}).files == {}


def test_less_is_told_of_one_of_many(tmp_path: Path) -> None:
    """Nor does it give a node a document of its own; that the two differ is said."""
    machine = server(NIC)
    run(tmp_path, {"w0": machine, "w1": machine})
    guess = machine._replace(
        devices=(), huge_page_sizes=(), core_ids=dict.fromkeys(range(8), 7), kubelet=None
    )
    update = run(tmp_path, {"w1": guess})
    assert update.files == {}
    assert update.notes == (
        f"Hardware {NAME} contains more than what was read, and is kept where the two differ",
        "cluster lab has nodes that were not read, which are unchanged: w0",
    )


def test_a_new_node_gets_nothing_of_others(tmp_path: Path) -> None:
    """Its source has no devices: that the others of its model have a card is not said of it."""
    machine = server(NIC)
    run(tmp_path, {"w0": machine})
    bare = machine._replace(devices=(), kubelet=None)
    update = run(tmp_path, {"w0": machine, "w1": bare})
    own = next(name for name in names(update) if name.startswith("hardware"))
    assert "devices" not in (tmp_path / own).read_text()
    assert f"- {{name: w1, hardware: {own[9:-5]}}}" in (tmp_path / "nodes-lab.yaml").read_text()
    (note,) = update.notes
    assert note == (
        f"w1: Hardware {NAME} of other nodes contains more than what was read, of which nothing is "
        f"taken over; the Hardware is named {own[9:-5]}"
    )
    # less of both is the same
    update = run(tmp_path, {"w0": bare, "w1": bare})
    assert not update.files


def test_what_a_group_has_offline(tmp_path: Path) -> None:
    run(tmp_path, {"w0": server(), "w1": server()})
    path = tmp_path / "nodes-lab.yaml"
    edit(path, ('{name: "w[0-1]"}', '{name: "w[0-1]", offline: "3,7"}'))
    imported = Imported((Node("w1", server(), {}, "lab", online_again=CpuSet((7,))),))
    known, _ = inventory.read(tmp_path)
    files = update_inventory(known, kinds_of(imported), tmp_path).files
    assert '- {name: w0, offline: "3,7"}\n  - {name: w1, offline: "3"}\n' in files[path][1]


def test_devices_of_a_group(tmp_path: Path) -> None:
    """They stay with the group as long as the node has them, and are no other hardware."""
    run(tmp_path, {"w0": server(NIC), "w1": server(NIC)})
    path = tmp_path / "nodes-lab.yaml"
    card = '{address: "0000:3b:00.0", class: gpu, vendor: "0x10de", device: "0x20b5"}'
    edit(path, ('{name: "w[0-1]"}', f'{{name: "w[0-1]", devices: [{card}]}}'))
    assert not run(tmp_path, {"w0": server(NIC, GPU), "w1": server(NIC, GPU)}).files
    run(tmp_path, {"w0": server(NIC)})
    assert f"name: w1, devices: [{card}]" in path.read_text()
    assert "{name: w0}" in path.read_text()


def test_a_label_that_left_the_cluster_is_named(tmp_path: Path) -> None:
    def read(labels: dict[str, str]) -> Update:
        node = Node("w0", server(), labels, "lab", told_labels=labels | {"kubernetes.io/os": "x"})
        known, _ = inventory.read(tmp_path)
        return update_inventory(known, kinds_of(Imported((node,))), tmp_path)

    for path, (_, text) in read({"tier": "gold", "rack": "7"}).files.items():
        path.write_text(text)
    update = read({"rack": "7"})
    assert not update.files
    (note,) = update.notes
    assert note == (
        "w0: the inventory has the label tier=gold, the Node object does not; it stays in the "
        "inventory: label the node, or delete it there"
    )


def test_cpu_taken_offline(tmp_path: Path) -> None:
    machine = server()
    run(tmp_path, {"w0": machine})
    offline = machine._replace(
        online=machine.online - CpuSet((7,)),
        offline=CpuSet((7,)),
        siblings=tuple(core - CpuSet((7,)) for core in machine.siblings),
    )
    run(tmp_path, {"w0": offline})
    path = next(tmp_path.glob("hardware*"))
    assert '    offline: "7"\n' in path.read_text()
    run(tmp_path, {"w0": machine})
    assert "offline" not in path.read_text()


def test_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "nodes-lab.yaml").write_text("# mine\n")
    made = Imported((Node("w0", server(), {}, "lab"),))
    update = update_inventory([], kinds_of(made), tmp_path)
    assert [diagnostic.code for diagnostic in update.diagnostics] == ["CP621"]
