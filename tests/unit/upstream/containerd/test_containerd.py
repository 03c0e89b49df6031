"""How containerd's releases read and merge configuration files."""

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cpuplan.upstream.containerd.config import Loaded, RefusedError, load
from cpuplan.upstream.containerd.cri_config import CRI, NRI, OLD_CRI

MAIN = "/etc/containerd/config.toml"
IMPORTS = 'imports = ["/etc/containerd/conf.d/*.toml"]\n'
OLD, NEW, NEWEST = (1, 7), (2, 0), (2, 3)
CRI_OF = {OLD: OLD_CRI, NEWEST: CRI}


def read(release: tuple[int, int], main: str, **drop_ins: str) -> Loaded:
    folder = "/etc/containerd/conf.d"
    files = {MAIN: main, **{f"{folder}/{name}.toml": text for name, text in drop_ins.items()}}

    def names(path: str) -> list[str]:
        return [name.rpartition("/")[2] for name in files if name.rpartition("/")[0] == path]

    return load(MAIN, release, files.get, names)


def plugin(loaded: Loaded, name: str) -> Any:
    return loaded.tables["plugins"][name]


def test_nothing_is_read_that_is_not_imported() -> None:
    loaded = read(NEW, "version = 3\n", a=f"[plugins.'{NRI}']\ndisable = true\n")
    assert list(loaded.files) == [MAIN]


@pytest.mark.parametrize("release", [OLD, NEW])
def test_imports_come_in_the_order_of_their_names(release: tuple[int, int]) -> None:
    loaded = read(
        release,
        f"version = 2\n{IMPORTS}",
        b=f"[plugins.'{NRI}']\ndisable = false\n",
        a=f"[plugins.'{NRI}']\ndisable = true\n",
    )
    assert [path.rpartition("/")[2] for path in loaded.files] == ["config.toml", "a.toml", "b.toml"]
    assert plugin(loaded, NRI) == {"disable": False}


def test_old_releases_replace_the_table_of_a_plugin_whole() -> None:
    own = f"[plugins.'{OLD_CRI}']\nenable_cdi = true\n"
    main = f"version = 2\n{IMPORTS}[plugins.'{OLD_CRI}']\nsandbox_image = 'a'\n"
    assert plugin(read(OLD, main, a=own), OLD_CRI) == {"enable_cdi": True}
    assert plugin(read(NEW, main, a=own), CRI) == {"enable_cdi": True, "sandbox_image": "a"}


def test_lists_at_the_top_add_up_and_lists_of_plugins_do_not() -> None:
    main = f"{IMPORTS}disabled_plugins = ['io.x.v1.a']\n[plugins.'{CRI}']\ndirs = ['a']\n"
    loaded = read(NEW, main, a=f"disabled_plugins = ['io.x.v1.b']\n[plugins.'{CRI}']\ndirs = ['b']")
    assert loaded.tables["disabled_plugins"] == ["io.x.v1.a", "io.x.v1.b"]
    assert plugin(loaded, CRI) == {"dirs": ["b"]}


def test_empty_values_do_not_replace_others() -> None:
    loaded = read(NEW, f"{IMPORTS}oom_score = -999\nroot = '/x'\n", a="oom_score = 0\nroot = ''\n")
    assert (loaded.tables["oom_score"], loaded.tables["root"]) == (-999, "/x")


def test_the_runtimes_of_an_older_version_are_lost_beside_those_of_a_newer_table() -> None:
    main = (
        f"version = 2\n{IMPORTS}"
        f"[plugins.'{OLD_CRI}'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"
    )
    own = f"[plugins.'{CRI}'.containerd.runtimes.rt]\nruntime_type = 'x'\n"
    assert list(plugin(read(NEW, main, a=own), CRI)["containerd"]["runtimes"]) == ["rt"]
    # Each file is brought to the newest version before it is merged.
    merged = plugin(read(NEWEST, main, a=own), CRI)["containerd"]["runtimes"]
    assert sorted(merged) == ["rt", "runc"]


def test_a_newer_version_of_one_file_switches_off_the_tables_of_all_older_ones() -> None:
    main = f"version = 2\n{IMPORTS}[plugins.'{OLD_CRI}']\nsandbox_image = 'a'\n"
    assert CRI not in read(NEW, main, a="version = 3\n").tables["plugins"]


@pytest.mark.parametrize(
    ("release", "version", "is_read"),
    [(OLD, 3, True), (NEW, 3, True), (NEW, 4, False), (NEWEST, 4, True)],
)
def test_since_2_no_release_reads_a_newer_version(
    release: tuple[int, int], version: int, is_read: bool
) -> None:
    main = f"version = {version}\n"
    if is_read:
        assert read(release, main)
    else:
        with pytest.raises(RefusedError, match=f"version {version} is newer"):
            read(release, main)


@pytest.mark.parametrize(
    ("main", "problem"),
    [
        ("imports = ['gone.toml']\n", "there is no such file"),
        ("version = '2'\n", "version is text, not a number"),
        ("version = 2\ndisabled_plugins = ['cri']\n", "cri is no full name"),
        ("version = \n", "Invalid value"),
    ],
)
def test_containerd_does_not_start_with(main: str, problem: str) -> None:
    with pytest.raises(RefusedError, match=problem):
        read(OLD, main)


def test_version_1_names_plugins_shortly() -> None:
    main = "disabled_plugins = ['cri']\n[plugins.cri]\nenable_cdi = true\n"
    for release in (OLD, NEWEST):
        loaded = read(release, main)
        assert loaded.tables["disabled_plugins"] == [OLD_CRI]
        assert plugin(loaded, CRI_OF[release]) == {"enable_cdi": True}


def test_bug_the_cri_table_of_a_file_without_version_is_lost() -> None:
    """2.0 to 2.2 take such a file for one of version 3 before plugins migrate their tables."""
    assert CRI not in read(NEW, "[plugins.cri]\nenable_cdi = true\n").tables["plugins"]


def test_a_file_that_imports_itself_is_read_once() -> None:
    assert list(read(NEW, f"imports = ['{MAIN}']\n").files) == [MAIN]


@pytest.mark.parametrize(("release", "is_read"), [(OLD, False), (NEW, True)])
def test_relative_patterns_count_from_the_file_since_2(
    release: tuple[int, int], is_read: bool
) -> None:
    loaded = read(release, 'imports = ["conf.d/*.toml"]\n', a="")
    assert ("/etc/containerd/conf.d/a.toml" in loaded.files) is is_read


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("containerd"), reason="needs Debian's containerd")
def test_containerd_itself_merges_like_this(tmp_path: Path) -> None:
    """Debian has 1.6: `config dump` prints what it merged, over its defaults."""
    (tmp_path / "conf.d").mkdir()
    main = tmp_path / "config.toml"
    main.write_text(
        f'version = 2\nimports = ["{tmp_path}/conf.d/*.toml"]\n'
        'disabled_plugins = ["io.containerd.snapshotter.v1.btrfs"]\noom_score = -999\n'
        f'[plugins."{OLD_CRI}"]\nsandbox_image = "a"\n'
    )
    drop_in = 'disabled_plugins = ["io.containerd.snapshotter.v1.zfs"]\noom_score = 0\n'
    drop_in += f'[plugins."{OLD_CRI}"]\nmax_container_log_line_size = 7\n'
    (tmp_path / "conf.d" / "99.toml").write_text(drop_in)
    command = ["containerd", "-c", str(main), "config", "dump"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    dumped = tomllib.loads(printed)
    files = {str(path): path.read_text() for path in tmp_path.rglob("*.toml")}
    ours = load(str(main), (1, 6), files.get, lambda _: ["99.toml"]).tables
    for key in ("version", "oom_score", "disabled_plugins"):
        assert dumped[key] == ours[key], key
    assert ours["plugins"][OLD_CRI].items() <= dumped["plugins"][OLD_CRI].items()
    assert dumped["plugins"][OLD_CRI]["sandbox_image"] != "a"
