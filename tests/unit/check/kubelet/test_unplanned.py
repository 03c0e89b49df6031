"""A root without a plan is of the platform that the files of its node tell."""

from pathlib import Path

import pytest

from cpuplan.check.kubelet import unplanned
from tests.machines.plans import plan
from tests.platform_nodes import FORMS

#: Files that these have beside those of their kubelets.
TOLD = {
    "kops": {"opt/kops/conf/kube_env.yaml": ""},
    "talos": {"etc/os-release": "ID=talos\n"},
    "bottlerocket": {"etc/os-release": "ID=bottlerocket\n"},
}


@pytest.mark.parametrize("platform", FORMS)
def test_the_platform_of_a_node_by_its_own_files(platform: str, tmp_path: Path) -> None:
    form = FORMS[platform]
    release = "1.12" if platform == "talos" else "1.34"
    made = plan(platform=platform, version=release, target=form.target)
    files = {"etc/hostname": "a\n", **form.files(made), **TOLD.get(platform, {})}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (known,) = unplanned.kubelets(tmp_path)
    assert (known.node, known.platform) == ("a", platform)
