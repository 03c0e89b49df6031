"""CRI-O's configuration: the order of files, what is refused when, and what bites."""

import pytest

from cpuplan.upstream.crio import traps
from cpuplan.upstream.crio.config import (
    Loaded,
    Machine,
    NotStartedError,
    RefusedError,
    decode,
    load,
    of_release,
    order,
)

HANDLER = "[crio.runtime.runtimes.rt]\ninherit_default_runtime = true\n"
WORKLOAD = '[crio.runtime.workloads.w]\nactivation_annotation = "a"\nannotation_prefix = "p"\n'


def read(*texts: str) -> Loaded:
    return load({f"{at}.conf": decode("", text) for at, text in enumerate(texts)})


def trapped(**texts: str) -> list[str]:
    files = {f"crio.conf.d/{name}.conf": decode("", text) for name, text in texts.items()}
    return [trap.problem for trap in traps.find(files, load(files))]


def test_the_main_file_comes_first_and_folders_where_their_name_is() -> None:
    names = ["crio.conf.d/b", "crio.conf.d/a/z", "crio.conf", "crio.conf.d/a.conf", "other"]
    expected = ["crio.conf", "crio.conf.d/a/z", "crio.conf.d/a.conf", "crio.conf.d/b"]
    assert order(dict.fromkeys(names, "")) == expected


def test_keys_win_one_by_one_and_tables_of_handlers_whole() -> None:
    first = f'[crio.runtime]\nshared_cpuset = "2"\n{HANDLER}exec_cpu_affinity = "first"\n'
    loaded = read(first, f'[crio.runtime]\ninfra_ctr_cpuset = "0"\n{HANDLER}')
    assert (loaded.runtime["shared_cpuset"], loaded.runtime["infra_ctr_cpuset"]) == ("2", "0")
    assert "exec_cpu_affinity" not in loaded.handlers["rt"]


def test_keys_have_no_case_and_unknown_ones_are_passed_over() -> None:
    file = decode("", '[crio.runtime]\nSHARED_CPUSET = "2"\nshared_cpus = "3"\n[other]\na = 1\n')
    assert file.tables["runtime"] == {"shared_cpuset": "2"}
    assert file.unknown == ("crio.runtime.shared_cpus", "other", "other.a")


@pytest.mark.parametrize(
    ("release", "text", "key"),
    [
        ((1, 27), "[crio.runtime]\nshared_cpuset = '2'\n", "crio.runtime.shared_cpuset"),
        ((1, 33), f"{HANDLER}exec_cpu_affinity = 'first'\n", "exec_cpu_affinity"),
        ((1, 33), "[crio.nri.default_validator]\nnri_enable_default_validator = true\n", "nri_ena"),
        ((1, 28), f"{WORKLOAD}resources = {{cpuquota = 1}}\n", "resources.cpuquota"),
        ((1, 28), "[crio.image]\npull_progress_timeout = '5s'\n", "pull_progress_timeout"),
        ((1, 30), "[crio.runtime]\nmin_injected_gomaxprocs = 4\n", "min_injected_gomaxprocs"),
    ],
)
def test_keys_of_later_releases_are_passed_over(
    release: tuple[int, int], text: str, key: str
) -> None:
    file = decode("", text)
    assert file.unknown == ()
    (unknown,) = of_release(file, release).unknown
    assert key in unknown
    assert of_release(file, (release[0], release[1] + 1)).unknown == ()


def test_keys_of_earlier_releases_are_known_to_them() -> None:
    file = decode("", "[crio.runtime]\nseccomp_use_default_when_empty = true\n")
    assert of_release(file, (1, 29)).unknown == ()
    assert of_release(file, (1, 30)).unknown == file.unknown != ()


def test_values_that_a_release_passes_over_have_no_effect() -> None:
    files = {"": decode("", f"[crio.runtime]\nshared_cpuset = '2'\n{HANDLER}")}
    assert load(files).runtime["shared_cpuset"] == "2"
    older = load(files, Machine(release=(1, 27)))
    assert older.runtime["shared_cpuset"] == ""
    assert list(older.dropped) == ["rt"]
    assert older.runtime["default_runtime"] == "runc"
    assert not older.nri["enable_nri"]


@pytest.mark.parametrize(
    ("release", "is_dropped"), [((1, 27), True), ((1, 28), False), ((1, 36), False)]
)
def test_annotations_of_later_releases_drop_a_handler(
    release: tuple[int, int], is_dropped: bool
) -> None:
    text = "[crio.runtime.runtimes.rt]\nruntime_path = '/usr/bin/crun'\n"
    file = decode("", f"{text}allowed_annotations = ['cpu-shared.crio.io']\n")
    assert bool(load({"": file}, Machine(release=release)).dropped) is is_dropped


@pytest.mark.parametrize(
    "text",
    [
        "[crio.runtime]\ninfra_ctr_cpuset = 3\n",
        "[crio]\nruntime = 1\n",
        f"{HANDLER}allowed_annotations = [1]\n",
        '[crio.nri]\nnri_plugin_request_timeout = "fast"\n',
        f"{WORKLOAD}resources = {{cpushares = -1}}\n",
    ],
)
def test_types_are_checked_in_each_file(text: str) -> None:
    with pytest.raises(RefusedError) as error:
        decode("x.conf", text)
    assert error.value.path == "x.conf"


@pytest.mark.parametrize(
    "text",
    [
        '[crio.runtime]\ninfra_ctr_cpuset = "0-"\n',
        '[crio.runtime]\ndefault_runtime = "gone"\n',
        '[crio.runtime]\ndefault_capabilities = ["FLY"]\n',
        '[crio.runtime]\nadditional_artifact_stores = ["here"]\n',
        '[crio.runtime]\ndefault_sysctls = ["a"]\n',
        "[crio.runtime]\nlog_size_max = 100\n",
        "[crio.runtime.workloads.w.resources]\n",
        f"{WORKLOAD}resources = {{cpuperiod = 999}}\n",
        f'{WORKLOAD}allowed_annotations = ["b"]\n',
    ],
)
def test_a_merged_configuration_is_refused(text: str) -> None:
    with pytest.raises(RefusedError) as error:
        read(text)
    assert not isinstance(error.value, NotStartedError)


@pytest.mark.parametrize(
    "text",
    [
        '[crio.runtime]\ncgroup_manager = "both"\n',
        '[crio.runtime]\nconmon_cgroup = "x"\n',
        '[crio.runtime]\ncgroup_manager = "cgroupfs"\nconmon_cgroup = "x.slice"\n',
        '[crio.runtime.runtimes.crun]\nallowed_annotations = ["a"]\n',
    ],
)
def test_only_the_daemon_refuses(text: str) -> None:
    with pytest.raises(NotStartedError):
        read(text)


def test_infra_containers_need_an_online_cpu() -> None:
    file = decode("", '[crio.runtime]\ninfra_ctr_cpuset = "8"\n')
    assert load({"": file}).runtime["infra_ctr_cpuset"] == "8"
    with pytest.raises(NotStartedError):
        load({"": file}, Machine(cpus=0b1111))


@pytest.mark.parametrize(
    "keys",
    [
        'allowed_annotations = ["cpu-shared.crio.io/app"]',
        'exec_cpu_affinity = "last"',
        "stream_websockets = true",
        'runtime_config_path = "/x"',
    ],
)
def test_a_handler_is_left_out(keys: str) -> None:
    text = f'[crio.runtime.runtimes.rt]\nruntime_path = "/usr/bin/crun"\n{keys}\n'
    loaded = read(text)
    assert list(loaded.dropped) == ["rt"]
    assert list(loaded.handlers) == ["crun"]


def test_a_handler_without_a_program_is_left_out() -> None:
    assert list(read("[crio.runtime.runtimes.rt]\n").dropped) == ["rt"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"a": f"{HANDLER}no_sync_log = true\n", "b": HANDLER}, "no_sync_log is lost"),
        ({"a": '[crio.runtime]\nshared_cpuset = "0 1"\n'}, "is no list of CPUs"),
        (
            {"a": '[crio.runtime]\nshared_cpuset = "0-3"\ninfra_ctr_cpuset = "2-5"\n'},
            "have CPUs 2-3 in common",
        ),
        ({"a": WORKLOAD}, "w has no resources"),
        (
            {"a": '[crio.runtime.workloads.w]\nactivation_annotation = "a"\nresources = {}\n'},
            "prefix",
        ),
        ({"a": HANDLER.replace("rt", "a-high-performance")}, "runs its CPU hooks for all pods"),
        ({".a": ""}, "CRI-O reads crio.conf.d/.a.conf too"),
    ],
)
def test_what_bites(texts: dict[str, str], words: str) -> None:
    (problem,) = trapped(**texts)
    assert words in problem


def test_what_does_not() -> None:
    repeated = f'{HANDLER}exec_cpu_affinity = ""\n'
    assert trapped(a=HANDLER, b=repeated, c=f"{WORKLOAD}resources = {{}}\n") == []
