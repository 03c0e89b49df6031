"""Paused intents: what was compiled of them stays byte for byte until they go on."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.base import files
from cpuplan.fleet import paused
from tests.git_projects import KUBERNETES, OPENSHIFT, add_class, edit
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
PROFILE = (
    '{platform: openshift, version: "4.20", pool: worker-du, mode: performanceProfile, '
    "featureSet: TechPreviewNoUpgrade}"
)
PINNED = '{platform: openshift, version: "4.20", pool: worker-%s, cpuPartitioning: true}' % "du"  # noqa: UP031
DELIVERED = (
    '{platform: kubernetes, version: "1.36", hostingNamespace: prod, delivery: '
    "[ansible, butane, cloudInit, clusterApi, ignition, nodeWright]}"
)
TARGETS = [KUBERNETES, OPENSHIFT % "du", PROFILE, PINNED, DELIVERED]
NOTES = ("manifest", "written")


def tree(project: Path) -> dict[str, bytes]:
    """`out/` without what is noted beside it."""
    paths = [
        path
        for path in sorted((project / "out").rglob("*"))
        if path.is_file() and path.name not in NOTES
    ]
    return {str(path.relative_to(project / "out")): path.read_bytes() for path in paths}


def objects(project: Path) -> dict[str, bytes]:
    return {path: data for path, data in tree(project).items() if not path.startswith(".cpuplan/")}


@pytest.fixture(params=TARGETS)
def site(request: pytest.FixtureRequest, tmp_path: Path, capsys: Capture) -> Path:
    project = tmp_path / "site"
    add_class(project, "du", target=request.param)
    edit(project, "intents/du.yaml", "selector:", "runtime: {sharedNamespaces: [ran]}\n  selector:")
    add_class(project, "core", target=OPENSHIFT % "core", cores=6)
    add_class(project, "core", target=request.param.replace("du", "core"), cores=6)
    assert run_in(project, ["compile"], capsys)[0] == 0, capsys.readouterr()
    return project


def pause(project: Path) -> None:
    edit(project, "intents/du.yaml", "spec:\n", "spec:\n  paused: true\n")


def test_everything_stays(site: Path, capsys: Capture) -> None:
    """Whatever else changes in the intent, the inventory and beside it, here and on a new clone."""
    before = objects(site)
    pause(site)
    edit(site, "intents/du.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    edit(site, "inventories/du-nodes.yaml", "du-[0-2]", "du-[0-4]")
    assert run_in(site, ["compile"], capsys)[0] == 0
    assert objects(site) == before
    (site / "out/.cpuplan/written").unlink()
    assert run_in(site, ["compile", "--check"], capsys)[0] == 0
    assert run_in(site, ["validate"], capsys)[0] == 0
    again = tree(site)
    edit(site, "intents/du.yaml", "shared: {cores: 2}", "shared: {cores: 3}")
    assert run_in(site, ["compile"], capsys)[0] == 0
    assert tree(site) == again


PROFILES = """koordinator:
    cpuSuppressThresholdPercent: 60
    workloads:
    - {name: web, matchLabels: {app: web}, qosClass: LS}
"""


CLAIMS = "workloads: [{name: upf, cpus: 2, pool: isolated.dpdk}]\n"
PARTITIONS = "isolated: {rest: true, partitions: {dpdk: {cores: 2}}}"


@pytest.mark.parametrize(
    ("mechanism", "more"), [("balloons", ""), ("dra", CLAIMS), ("koordinator", PROFILES)]
)
def test_objects_of_other_mechanisms_stay(
    tmp_path: Path, capsys: Capture, mechanism: str, more: str
) -> None:
    target = f'{{platform: kubernetes, version: "1.35", mechanism: {mechanism}}}'
    add_class(tmp_path, "du", target=target)
    edit(tmp_path, "intents/du.yaml", "    shared: {cores: 1}\n", "")
    edit(tmp_path, "intents/du.yaml", "pools:", f"{more}  pools:" if more else "pools:")
    if mechanism == "dra":
        edit(tmp_path, "intents/du.yaml", "isolated: rest", PARTITIONS)
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    before = objects(tmp_path)
    assert [path for path in before if "/manifests/20-" in path]
    pause(tmp_path)
    edit(tmp_path, "intents/du.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    edit(tmp_path, "inventories/du-nodes.yaml", "du-[0-2]", "du-[0-4]")
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    assert objects(tmp_path) == before


def test_each_file_that_stays_is_read_once(
    site: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause(site)
    assert run_in(site, ["compile"], capsys)[0] == 0
    edit(site, "intents/core.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    read: list[Path] = []

    def read_regular(path: Path, **options: Any) -> bytes:
        read.append(path)
        return files.read_regular(path, **options)

    monkeypatch.setattr(paused, "read_regular", read_regular)
    assert run_in(site, ["compile"], capsys)[0] == 0
    assert any("du" in path.name for path in read)
    assert len(read) == len(set(read))


def test_other_intents_go_on(site: Path, capsys: Capture) -> None:
    pause(site)
    before = objects(site)
    edit(site, "intents/core.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    assert run_in(site, ["compile"], capsys)[0] == 0
    after = objects(site)
    changed = {path for path in before if after.get(path) != before[path]}
    assert changed
    assert not [path for path in changed if "du" in path]
    assert before.keys() == after.keys()


def test_an_intent_goes_on(site: Path, capsys: Capture) -> None:
    """What was said in the meantime is compiled then."""
    before = objects(site)
    pause(site)
    edit(site, "intents/du.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    assert run_in(site, ["compile"], capsys)[0] == 0
    edit(site, "intents/du.yaml", "  paused: true\n", "")
    assert run_in(site, ["compile"], capsys)[0] == 0
    assert objects(site) != before
    assert objects(site).keys() == before.keys()
    assert '"paused"' not in (site / "out/.cpuplan/classes/lab/du-du-hw.json").read_text()


@pytest.mark.parametrize(
    "command", [["compile"], ["validate"], ["compile", "--check"], ["compile", "--force"]]
)
def test_a_kept_file_that_was_changed_is_refused(
    site: Path, capsys: Capture, command: list[str]
) -> None:
    pause(site)
    assert run_in(site, ["compile"], capsys)[0] == 0
    for path in sorted(path for path in objects(site) if "du" in path):
        file = site / "out" / path
        content = file.read_bytes()
        file.write_bytes(content + b"# edited\n")
        code, out, err = run_in(site, command, capsys)
        assert code != 0, path
        assert "CP565" in out + err
        assert path in out + err
        file.unlink()
        assert run_in(site, command, capsys)[0] != 0, path
        file.write_bytes(content)
    assert run_in(site, ["validate"], capsys)[0] == 0


@pytest.mark.parametrize("damage", ["", "{", "{}"])
def test_what_was_kept_must_be_known(site: Path, capsys: Capture, damage: str) -> None:
    pause(site)
    assert run_in(site, ["compile"], capsys)[0] == 0
    (site / "out/.cpuplan/classes/lab/du-du-hw.json").write_text(damage)
    for command in ("compile", "validate"):
        code, out, err = run_in(site, [command], capsys)
        assert code == 1
        assert "CP566" in out + err


def test_a_paused_intent_that_is_new_writes_nothing(tmp_path: Path, capsys: Capture) -> None:
    add_class(tmp_path, "du")
    pause(tmp_path)
    for _ in range(2):
        assert run_in(tmp_path, ["compile"], capsys)[0] == 0
        assert [path for path in objects(tmp_path) if "du" in path] == []
    assert run_in(tmp_path, ["compile", "--check"], capsys)[0] == 0


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "nodes//x", "a\nb"])
def test_a_record_of_others_leads_nowhere_else(site: Path, capsys: Capture, path: str) -> None:
    import json

    pause(site)
    assert run_in(site, ["compile"], capsys)[0] == 0
    file = site / "out/.cpuplan/classes/lab/du-du-hw.json"
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "paused": {path: "0" * 64}}))
    code, out, err = run_in(site, ["compile"], capsys)
    assert code == 1
    assert "CP565" in out + err


def test_what_stays_counts_for_other_pools(tmp_path: Path, capsys: Capture) -> None:
    """The nodes of a custom pool get what was compiled of the workers, not what was said since."""
    workers = '{platform: openshift, version: "4.20", pool: worker%s}'
    add_class(tmp_path, "du", target=workers % ", mode: performanceProfile", cores=6)
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    pause(tmp_path)
    edit(tmp_path, "intents/du.yaml", ", mode: performanceProfile", "")
    add_class(tmp_path, "core", target=OPENSHIFT % "core", cores=8)
    code, out, err = run_in(tmp_path, ["validate"], capsys)
    assert code == 1
    assert "CP237" in out + err
    assert "resume intent du first" in out + err
    edit(tmp_path, "intents/du.yaml", "  paused: true\n", "")
    assert run_in(tmp_path, ["validate"], capsys)[0] == 0


def test_pausing_the_workers_changes_nothing(tmp_path: Path, capsys: Capture) -> None:
    """Nor does it change what is expected of a custom pool, which has objects of the workers."""
    add_class(tmp_path, "du", target='{platform: openshift, version: "4.20", pool: worker}')
    add_class(tmp_path, "core", target=OPENSHIFT % "core")
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    before = objects(tmp_path)
    pause(tmp_path)
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    assert objects(tmp_path) == before
