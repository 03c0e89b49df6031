"""The process of a unit, and when it started."""

import pytest

from cpuplan.check.processes import process_of_unit, start_time


class Files:
    """Files by path."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> str | None:
        return self.files.get(path)


def test_process_of_the_unit_before_others() -> None:
    files = Files(
        {
            "proc/7/cmdline": "kubelet\0--v=1\0",
            "proc/7/cgroup": "0::/docker/abc/kubelet.slice\n",
            "proc/8/cmdline": "kubelet\0--v=2\0",
            "proc/8/cgroup": "0::/user.slice\n",
            "proc/9/cmdline": "kubelet\0--v=3\0",
            "proc/9/cgroup": "0::/system.slice/kubelet.service\n",
        }
    )
    process = process_of_unit(files, ["7", "8", "9"], "kubelet.service")
    assert process is not None
    assert process.words == ("kubelet", "--v=3")
    other = process_of_unit(files, ["7", "8"], "kubelet.service")
    assert other is not None
    assert other.pid == "8"
    assert process_of_unit(files, ["7"], "kubelet.service") is None


def test_process_that_is_ending_has_no_words() -> None:
    assert process_of_unit(Files({"proc/7/cmdline": ""}), ["7"], "kubelet.service") is None


@pytest.mark.parametrize(
    ("stat", "task", "expected"),
    [
        ("cpu 1\nbtime 1000\n", f"7 (a) b) S {'0 ' * 18}250 0\n", 1002.5),
        ("cpu 1\n", f"7 (a) S {'0 ' * 18}250 0\n", None),
        ("btime 1000\n", "7 (a) S 0\n", None),
    ],
)
def test_start(stat: str, task: str, expected: float | None) -> None:
    assert start_time(Files({"proc/stat": stat, "proc/7/stat": task}), "7") == expected
