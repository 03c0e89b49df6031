"""What is compiled for claims, simulated as a cluster with the driver would take it."""

import shutil
from pathlib import Path

import pytest

from tests.projects import REPOSITORY, run_in

FOLDER = "out/clusters/site/dra/claims-small-2s"
CLASSES = "out/clusters/site/manifests"


def test_pods_of_workloads_get_cpus_of_their_partition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "site"
    shutil.copytree(REPOSITORY / "tests/cases/dra", project)
    assert run_in(project, ["compile"], capsys)[0] == 0
    files = [f"{FOLDER}/templates", f"{FOLDER}/pods", CLASSES]
    code, printed, _ = run_in(project, ["simulate", *files], capsys)
    assert code == 0
    lines = [line.split() for line in printed.splitlines() if line.startswith("default/")]
    placed = {line[0]: line[3] for line in lines if line[1] == "main"}
    assert placed == {"default/database": "9-14,25-30", "default/upf": "1-2,17-18"}
