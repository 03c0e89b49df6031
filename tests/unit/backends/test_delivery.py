"""What Git delivers: every folder builds, and the objects are what Argo CD may sync."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from cpuplan.backends.delivery import CLUSTER_KINDS, NAMESPACED_KINDS
from tests.projects import REPOSITORY

OUT = REPOSITORY / "out"
FOLDERS = sorted(path.parent for path in OUT.rglob("kustomization.yaml"))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(OUT).as_posix())
def test_kustomize_builds(folder: Path) -> None:
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = {(data["kind"], data["metadata"]["name"]) for data in yaml.safe_load_all(done.stdout)}
    assert built == {(data["kind"], data["metadata"]["name"]) for data in objects(folder)}


def objects(folder: Path) -> list[dict[str, dict[str, str]]]:
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    return [yaml.safe_load((folder / name).read_text()) for name in listed]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(OUT).as_posix())
def test_kustomization_lists_every_file(folder: Path) -> None:
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted([*listed, "kustomization.yaml"]) == sorted(path.name for path in folder.iterdir())


def test_the_project_allows_what_is_written_and_no_more() -> None:
    written = {
        ("/".join(str(data["apiVersion"]).split("/")[:-1]), str(data["kind"]))  # core objects have no group
        for folder in FOLDERS
        if folder.name == "manifests"
        for data in objects(folder)
    }
    # The sample has no pool in mode performanceProfile, and no hosted cluster.
    others = {("performance.openshift.io", "PerformanceProfile"), ("", "ConfigMap")}
    assert written | others == {*CLUSTER_KINDS, *NAMESPACED_KINDS}
