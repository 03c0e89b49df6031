"""What containerd makes of the files of a node, at their lines."""

import pytest

from cpuplan.check.runtimes.containerd_files import Files, findings
from cpuplan.diagnostics.codes import successors
from cpuplan.diagnostics.source import Position
from cpuplan.upstream.containerd.cri_config import CRI, IMAGES, NRI, OLD_CRI

FOLDER = "/etc/containerd"
MAIN = f"{FOLDER}/config.toml"
IMPORTS = f'imports = ["{FOLDER}/conf.d/*.toml"]\n'
TRAPS = successors("CP852")
#: A default handler without traps, and NRI and CDI switched on where they are not.
OLD_RUNC = (
    f"[plugins.'{OLD_CRI}'.containerd.runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n"
    f"[plugins.'{OLD_CRI}'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"
)
OLD = f"version = 2\n{IMPORTS}[plugins.'{OLD_CRI}']\nenable_cdi = true\n{OLD_RUNC}"
OLD_ON = f"{OLD}[plugins.'{NRI}']\ndisable = false\n"
RUNC = f"[plugins.'{CRI}'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"
NEW = f"version = 3\n{IMPORTS}{RUNC}"


def findings_of(
    release: tuple[int, int], main: str, drop_in: str = "", driver: str = "systemd", **others: str
) -> list[tuple[str, str]]:
    """(code, file and line)."""
    files = {MAIN: main, **{f"{FOLDER}/{name}": text for name, text in others.items()}}
    if drop_in:
        files[f"{FOLDER}/conf.d/a.toml"] = drop_in

    def names(folder: str) -> list[str]:
        return [path.rpartition("/")[2] for path in files if path.rpartition("/")[0] == folder]

    access = Files(files.get, names, lambda path: path.removeprefix(f"{FOLDER}/"))
    return [
        (finding.code, shown(finding.position))
        for finding in findings(access, MAIN, release, driver)
    ]


def shown(position: Position | None) -> str:
    return f"{position.path}:{position.line}" if position else ""


@pytest.mark.parametrize(
    ("release", "main"), [((1, 7), OLD_ON), ((2, 0), NEW), ((2, 2), NEW), ((2, 3), NEW)]
)
def test_a_usual_configuration_has_no_findings(release: tuple[int, int], main: str) -> None:
    assert findings_of(release, main) == []


@pytest.mark.parametrize(
    ("release", "main"),
    [
        ((1, 7), f"version = 2\ndisabled_plugins = ['{OLD_CRI}']\n"),
        ((2, 2), "disabled_plugins = ['cri']\n"),
        ((2, 2), f"version = 3\ndisabled_plugins = ['{IMAGES}']\n"),
        ((2, 2), f"version = 3\n[plugins.'{CRI}']\nenable_cdi = 'true'\n"),
        ((2, 2), f"version = 3\n[plugins.'{CRI}'.containerd]\ndefault_runtime_name = 'kata'\n"),
        ((1, 7), f"version = 2\n[plugins.'{OLD_CRI}']\nsystemd_cgroup = true\n"),
        # Before 2.0 any handler replaces the default one.
        ((1, 7), f"version = 2\n[plugins.'{OLD_CRI}'.containerd.runtimes.kata]\n"),
        (
            (2, 0),
            f"version = 3\n[plugins.'{IMAGES}'.registry]\nconfig_path = '/x'\nmirrors.x = {{}}\n",
        ),
    ],
)
def test_the_cri_plugin_does_not_start_with(release: tuple[int, int], main: str) -> None:
    assert [code for code, _ in findings_of(release, main)] == ["CP851"]


def test_what_stops_containerd_has_its_line() -> None:
    assert findings_of((2, 2), "version = 3\nimports = 'x'\n") == [("CP844", "config.toml:2")]
    assert findings_of((2, 2), "version = 5\n") == [("CP844", "config.toml:1")]


@pytest.mark.parametrize(
    ("release", "main", "drop_in", "expected"),
    [
        # A key of the top stands in the table before it.
        ((2, 2), f"version = 3\n[grpc]\n{IMPORTS}{RUNC}", "", "config.toml:3"),
        # Before 2.0 the table of a plugin replaces the earlier one.
        ((1, 7), OLD_ON, f"[plugins.'{OLD_CRI}']\nenable_cdi = true\n{OLD_RUNC}\n", ""),
        ((1, 7), OLD_ON, f"[plugins.'{NRI}']\nsocket_path = '/x'\n", "conf.d/a.toml:1"),
        # Tables of other versions.
        ((1, 7), OLD_ON, f"[plugins.'{CRI}']\nenable_cdi = true\n", "conf.d/a.toml:1"),
        (
            (2, 2),
            NEW,
            f"version = 3\n[plugins.'{OLD_CRI}']\nenable_cdi = true\n",
            "conf.d/a.toml:2",
        ),
        ((2, 2), NEW, f"version = 2\n[plugins.'{OLD_CRI}']\nenable_cdi = true\n", ""),
        ((2, 3), NEW, f"[plugins.'{OLD_CRI}']\nenable_cdi = true\n", ""),
        (
            (2, 3),
            NEW,
            f"version = 3\n[plugins.'{OLD_CRI}']\nenable_cdi = true\n",
            "",
        ),
        (
            (2, 3),
            NEW.replace("3", "4", 1),
            f"version = 4\n[plugins.'{OLD_CRI}']\nenable_cdi = true\n",
            "conf.d/a.toml:2",
        ),
        # The server's keys stay there.
        ((2, 3), NEW, f"version = 3\n[plugins.'{OLD_CRI}']\ndisable_tcp_service = true\n", ""),
        # 2.3.0 to 2.3.4 refuse a higher version.
        ((2, 3), NEW, "version = 4\n", "conf.d/a.toml:1"),
        ((2, 2), f"version = 2\n{IMPORTS}{OLD_RUNC}", "version = 2\n", ""),
        # Relative patterns.
        ((1, 7), OLD_ON.replace(f'"{FOLDER}/', '"'), "", "config.toml:2"),
        # Handlers. Before 2.0 a table of the default handler replaces it.
        (
            (1, 7),
            OLD_ON.replace("runtime_type = 'io.containerd.runc.v2'\n", ""),
            "",
            "config.toml:5",
        ),
        ((2, 2), NEW, f"[plugins.'{CRI}'.containerd.runtimes.rt]\n", "conf.d/a.toml:1"),
        (
            (2, 2),
            NEW,
            f"[plugins.'{CRI}'.containerd.runtimes.rt]\nruntime_type = 'io.containerd.runc.v1'\n",
            "conf.d/a.toml:2",
        ),
        (
            (2, 2),
            NEW,
            f"[plugins.'{CRI}'.containerd.runtimes.runc.options]\nSystemdCgroup = 'true'\n",
            "conf.d/a.toml:2",
        ),
        ((2, 2), NEW, f"[plugins.'{NRI}'.default_validator]\nrequired_plugins = ['a']\n", ""),
        (
            (2, 2),
            NEW,
            f"[plugins.'{NRI}'.default_validator]\nenable = true\nrequired_plugins = ['a']\n",
            "conf.d/a.toml:3",
        ),
    ],
)
def test_traps(release: tuple[int, int], main: str, drop_in: str, expected: str) -> None:
    places = {place for code, place in findings_of(release, main, drop_in) if code in TRAPS}
    assert places == ({expected} if expected else set())


def test_files_that_nothing_imports() -> None:
    others = {"conf.d/b.conf": ""}
    assert findings_of((2, 2), NEW, "", **others) == [("CP8332", "config.toml:2")]
    assert findings_of((2, 2), f"version = 3\n{RUNC}", "oom_score = 1\n") == [
        ("CP8332", "config.toml:1")
    ]


@pytest.mark.parametrize(
    ("release", "main", "driver"),
    [
        ((2, 2), "version = 3\n", "systemd"),
        ((1, 7), OLD_ON.replace("SystemdCgroup = true", "SystemdCgroup = false"), "systemd"),
        ((2, 2), NEW, "cgroupfs"),
    ],
)
def test_pods_whose_cgroups_are_elsewhere(release: tuple[int, int], main: str, driver: str) -> None:
    assert [code for code, _ in findings_of(release, main, driver=driver)] == ["CP8336"]


@pytest.mark.parametrize(
    ("release", "text", "number"),
    [
        ((1, 7), "", 2),
        ((1, 6), "", 0),
        ((2, 2), "", 0),
        ((2, 2), f"[plugins.'{NRI}']\ndisable = true\n", 1),
        ((2, 2), f"[plugins.'{NRI}']\ndisable_connections = true\n", 1),
        ((2, 2), f"[plugins.'{CRI}']\nenable_cdi = false\n", 1),
    ],
)
def test_what_is_off(release: tuple[int, int], text: str, number: int) -> None:
    main = f"version = 2\n{OLD_RUNC}" if release < (2, 0) else NEW
    codes = [code for code, _ in findings_of(release, main, text)]
    assert codes == ["CP853"] * number


@pytest.mark.parametrize(
    ("release", "text", "is_known"),
    [
        ((2, 2), "oom_scores = 1\n", False),
        ((2, 2), f"[plugins.'{NRI}']\nDisable = false\n", True),
        ((2, 2), f"[plugins.'{NRI}'.default_validator]\nenable = false\n", True),
        ((2, 1), f"[plugins.'{NRI}'.default_validator]\nenable = false\n", False),
        ((2, 0), f"[plugins.'{CRI}']\nsandbox_image = 'x'\n", False),
        ((2, 0), f"[plugins.'{CRI}'.containerd.runtimes.runc]\ncgroup_writable = true\n", False),
        ((2, 1), f"[plugins.'{CRI}'.containerd.runtimes.runc]\ncgroup_writable = true\n", True),
        ((2, 1), "[plugins.'io.containerd.gc.v1.scheduler']\nanything = true\n", True),
    ],
)
def test_keys_that_a_release_knows(release: tuple[int, int], text: str, is_known: bool) -> None:
    codes = {code for code, _ in findings_of(release, NEW, text)}
    assert ("CP854" not in codes) is is_known


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("grpc = 1\n", ["CP844"]),
        ("disabled_plugins = [1]\n", ["CP844"]),
        ("oom_score = 1.5\n", ["CP844"]),
        (f"plugins.'{CRI}' = 3\n", ["CP851"]),
        (f"plugins.'{CRI}'.containerd = 3\n", ["CP851"]),
        (f"plugins.'{CRI}'.containerd.runtimes.rt = 3\n", ["CP851"]),
        (f"plugins.'{CRI}'.containerd.runtimes.runc.options = 3\n", ["CP851"]),
        (f"{RUNC}[plugins.'{NRI}']\ndisable = 'no'\n", ["CP8337", "CP853"]),
        (f"{RUNC}[plugins.'{NRI}'.default_validator]\nrequired_plugins = 3\n", ["CP8337"]),
    ],
)
def test_values_of_another_type_are_findings(text: str, codes: list[str]) -> None:
    assert [code for code, _ in findings_of((2, 2), f"version = 3\n{text}")] == codes
