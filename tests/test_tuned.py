"""The profiles of emitted Tuned objects, loaded and merged with their parents by TuneD's own code.

Only the package's files are needed, no daemon: where they are not installed, CPUPLAN_TUNED names
the folder that they were unpacked in (`apt-get download tuned && dpkg -x tuned_*.deb FOLDER`).
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cpuplan.backends import configure
from cpuplan.backends.openshift import objects
from cpuplan.components import cmdline, kernel
from cpuplan.components.host import tuned as plain
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import ConfiguredPlan, NodePlan
from tests import emitted
from tests.conformance import nto_render
from tests.projects import needs_shared
from tests.tuned_profile import EARLIER
from tests.unit.components.test_components import PLANS

ROOT = Path(os.environ.get("CPUPLAN_TUNED", "/"))
SCRIPT = Path(__file__).with_name("tuned_profile.py")
#: The parents of a recorded profile, chosen by a function that only later releases of TuneD than
#: 2.20 have.
_COMPUTED = re.compile(r"^include=.*\n\s+openshift-node-performance-.*$", re.MULTILINE)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "usr/lib/python3/dist-packages/tuned").is_dir(),
        reason=(
            f"TuneD (Debian: tuned) is not below {ROOT}; see CPUPLAN_TUNED in tests/test_tuned.py"
        ),
    ),
]


class Answer(NamedTuple):
    """What TuneD would do: sections with the options that hold, and boot arguments."""

    units: dict[str, Any]
    cmdline: str


def load(folder: Path, requests: list[dict[str, Any]]) -> list[Answer]:
    """TuneD's answers (see tuned_profile).

    Where it cannot load a profile, its messages are in the failure.
    """
    for number in range(len(requests)):
        (folder / str(number)).mkdir()
    command = [sys.executable, str(SCRIPT), str(ROOT), str(folder)]
    # a parent makes a folder whenever it is loaded
    environment = {**os.environ, "TMPDIR": str(folder)}
    text = json.dumps(requests)
    run = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0, run.stderr
    return [Answer(answer["units"], answer["cmdline"]) for answer in json.loads(run.stdout)]


def request(plan: ConfiguredPlan, texts: dict[str, str]) -> dict[str, Any]:
    """A profile on the plan's machine, after the boot that switches CPUs off."""
    online = plan.topology.online - plan.pool("offlined").cpus
    name = f"openshift-node-performance-{plan.node_class.profile}"
    return {"profile": name, "texts": texts, "online": str(online)}


def ours(plan: ConfiguredPlan) -> dict[str, str]:
    """The texts of the profiles of a plan's Tuned object, by name."""
    return _texts(objects.tuned_object(plan))


def _texts(tuned: dict[str, Any]) -> dict[str, str]:
    return {profile["name"]: profile["data"] for profile in tuned["spec"]["profile"]}


def isolating(plans: Iterable[tuple[str, ConfiguredPlan]]) -> Iterator[tuple[str, ConfiguredPlan]]:
    """The plans that have a Tuned object."""
    return ((where, plan) for where, plan in plans if plan.pool("isolated").cpus)


def recorded() -> Iterator[tuple[str, ConfiguredPlan, dict[str, str]]]:
    """(case, plan, texts of the operator's profiles) of recorded ones.

    The profiles have the parents that they have on an Intel machine.
    """
    for case, compiled in emitted.recorded():
        for name, plan in ((profile.name, profile.plan) for profile in compiled):
            path = nto_render._expected_folder(case) / f"{name}_tuned.yaml"
            if path.exists() and plan.pool("isolated").cpus:
                texts = _texts(nto_render._load(path)[0])
                parents = [
                    "openshift-node",
                    "cpu-partitioning",
                    f"openshift-node-performance-intel-x86-{name}",
                ]
                if plan.spec.kernel.real_time:
                    parents.insert(2, f"openshift-node-performance-rt-{name}")
                own = f"openshift-node-performance-{name}"
                texts[own] = _COMPUTED.sub(f"include={','.join(parents)}", texts[own])
                yield case.name, plan, texts


def without_bootloader(answer: Answer) -> dict[str, Any]:
    return {name: unit for name, unit in answer.units.items() if name != "bootloader"}


def test_tuned_asks_for_no_boot_arguments(tmp_path: Path) -> None:
    plans = list(isolating(emitted.openshift_plans()))
    answers = load(tmp_path, [request(plan, ours(plan)) for _, plan in plans])
    assert not [
        (where, answer.cmdline)
        for (where, _), answer in zip(plans, answers, strict=True)
        if answer.cmdline
    ]
    assert len(plans) >= 100


@needs_shared
def test_sections_override_the_parents_as_the_operators_own(tmp_path: Path) -> None:
    cases = list(recorded())
    both = [request(plan, texts) for _, plan, recorded in cases for texts in (ours(plan), recorded)]
    answers = load(tmp_path, both)
    for (case, plan, _), own, theirs in zip(cases, answers[::2], answers[1::2], strict=True):
        assert without_bootloader(own) == without_bootloader(theirs), case
        assert own.cmdline == ""
        isolated = plan.pool("isolated").cpus | plan.pool("isolcpus").cpus
        assert f"nohz_full={isolated}" in theirs.cmdline, case
    assert len(cases) >= 60


#: What sites put on top of the operator's profile, below [main].
ON_TOP = (
    (
        "[bootloader]\ncmdline_site=+audit=0 quiet\n[service]\nservice.chronyd=stop,disable\n"
        "[scheduler]\ngroup.ice-ptp=0:f:10:*:ice-ptp.*\n[sysctl]\nkernel.sched_rt_runtime_us=950000\n"
    ),
    "[bootloader]\ncmdline_isolation=+isolcpus=domain,managed_irq,${isolated_cores}\n",
    "[bootloader]\ncmdline_a=-skew_tick=1 nosoftlockup\ncmdline_b=skew_tick=0\n",
    "[bootloader]\nreplace=1\ncmdline_only=quiet\n",
    "[sysctl]\nreplace=1\nvm.swappiness=1\n[selinux]\ndrop=avc_cache_threshold\n",
    "[more]\ntype=sysctl\nvm.max_map_count=${f:kb2s:100}\n[variables]\nisolated_cores=2-3\n",
)


@needs_shared
@pytest.mark.parametrize("text", ON_TOP)
def test_profiles_on_top_of_the_operators_own(tmp_path: Path, text: str) -> None:
    """What they change of boot arguments and of planned options is the same by TuneD's own code."""
    cases = [case for case in recorded() if {2, 3} <= set(case[1].pool("isolated").cpus)][:12]
    asked: list[dict[str, Any]] = []
    for _, plan, texts in cases:
        asked.append(request(plan, texts))
        child = f"[main]\ninclude={asked[-1]['profile']}\n{text}"
        asked.append({**asked[-1], "profile": "site", "texts": {**texts, "site": child}})
    answers = load(tmp_path, asked)
    for (case, plan, _), before, after in zip(cases, answers[::2], answers[1::2], strict=True):
        made = _with_on_top(plan, text)
        was, now = (made.written.values(kernel.NAME), made.settings.values(kernel.NAME))
        of_tuned = (cmdline.keyed(before.cmdline), cmdline.keyed(after.cmdline))
        # An older TuneD has fewer arguments in its own profiles.
        unlike = was.keys() ^ of_tuned[0].keys()
        assert _changed(was, now, unlike) == _changed(*of_tuned, unlike), case
        for key, value in made.settings.values(plain.NAME).items():
            section, _, name = key.partition(".")
            told = _options(after).get((section, name))
            if section not in ("main", "bootloader", "variables") and told is not None:
                assert str(value) == told, (case, key)
        gone = made.written.values(plain.NAME).keys() - made.settings.values(plain.NAME).keys()
        assert not [key for key in gone if tuple(key.split(".", 1)) in _options(after)], case
    assert len(cases) >= 8


def _options(answer: Answer) -> dict[tuple[str, str], str]:
    """The options of an answer; those of sections of the plugin sysctl as of one section."""
    return {
        ("sysctl" if unit["type"] == "sysctl" else name, option): value
        for name, unit in answer.units.items()
        for option, value in unit["options"].items()
    }


def _with_on_top(plan: ConfiguredPlan, text: str) -> ConfiguredPlan:
    """The plan in a cluster with a profile on top of its own."""
    node_class = copy(plan.node_class)
    node_class.target = node_class.target.model_copy(update={"mode": "performanceProfile"})
    own = plain.of_operator(node_class.profile)
    recommended = {
        "profile": "site",
        "priority": 1,
        "machineConfigLabels": {ROLE: plan.node_class.target.pool},
    }
    data = f"[main]\ninclude={own}\n{text}"
    item = {
        "name": "site",
        "profile": [{"name": "site", "data": data}],
        "recommend": [recommended],
    }
    node_class.cluster_facts = ClusterSpec.model_validate({"tuneds": [item]})
    return configure(NodePlan(node_class, plan.pools, plan.sets))


def _changed(
    before: dict[str, Any], after: dict[str, Any], without: Iterable[str]
) -> dict[str, Any]:
    """What is otherwise, by key: None where it is gone."""
    keys = (before.keys() | after.keys()) - set(without)
    return {key: after.get(key) for key in keys if before.get(key) != after.get(key)}


def test_profiles_of_nodes_without_an_operator(tmp_path: Path) -> None:
    """They have no parents, and TuneD reads of them what was written."""
    nodes = {**PLANS, **dict(emitted.case_plans())}
    plans = [node for node in nodes.values() if node.settings.of(plain.NAME) and _is_plain(node)]
    answers = load(tmp_path, [_plain_request(node) for node in plans])
    for node, answer in zip(plans, answers, strict=True):
        read = {
            f"{name}.{option}": value
            for name, unit in answer.units.items()
            for option, value in unit["options"].items()
        }
        written = node.settings.values(plain.NAME)
        named = ("type", "devices_udev_regex", "enabled")
        options = {key: value for key, value in written.items() if not key.endswith(named)}
        assert options.items() <= read.items()
        assert answer.cmdline == EARLIER
    assert plans


def _is_plain(node: ConfiguredPlan) -> bool:
    return node.node_class.target.platform == "kubernetes"


def _plain_request(node: ConfiguredPlan) -> dict[str, Any]:
    text = plain.render(node.settings.of(plain.NAME))
    return {"profile": plain.PROFILE, "texts": {plain.PROFILE: text}, "online": "0-3"}


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("replace=1\n", "nohz_full="),  # the parents' arguments
        ("skip_grub_config=1\n", EARLIER),  # those of a profile before
    ],
)
def test_each_line_is_needed(tmp_path: Path, line: str, left: str) -> None:
    _, plan = next(isolating(emitted.openshift_plans()))
    texts = {name: text.replace(line, "") for name, text in ours(plan).items()}
    assert texts != ours(plan)
    assert left in load(tmp_path, [request(plan, texts)])[0].cmdline
