"""`python -m tests.conformance SUITE [PATH...]`: one line for each failure, then how many vectors
passed and failed. `all [--jobs N]` runs every suite whose vectors are there, on all CPUs.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

SHARED = Path(__file__).parents[2].parent / "shared"


class Suite(NamedTuple):
    """The module whose `run(paths)` yields (vector, failures), and its vectors below the shared
    folder.

    Without paths, a suite runs all of its vectors.
    """

    module: str
    folder: str


SUITES = {
    "corpus": Suite("tests.conformance.corpus", "corpus"),
    "machineinfo": Suite("tests.conformance.machineinfo", "vectors/kubelet/machineinfo.jsonl.gz"),
    "nto-validate": Suite("tests.conformance.nto_validate", "vectors/nto/validate"),
    "kubelet": Suite("tests.conformance.kubelet", "vectors/kubelet"),
    "devices": Suite(
        "tests.conformance.devices", str(Path(__file__).parent / "vectors" / "devices.jsonl.gz")
    ),
    "nto-ppc": Suite("tests.conformance.nto_ppc", "vectors/nto/ppc"),
    "crio": Suite("tests.conformance.crio", "vectors/crio"),
    "mco": Suite("tests.conformance.mco", "vectors/mco"),
    "nto-releases": Suite("tests.conformance.nto_releases", "vectors/nto/releases"),
    "admission": Suite("tests.conformance.admission", "vectors/admission"),
    "nto-render": Suite("tests.conformance.nto_render", "vectors/nto/render"),
    "koordinator": Suite("tests.conformance.koordinator", "vectors/koordinator"),
    "nrt": Suite("tests.conformance.nrt", "vectors/nrt"),
    "nri": Suite("tests.conformance.nri", "vectors/nri"),
    "dra": Suite("tests.conformance.dra", "vectors/nri"),
}
#: Those that take longest, which several processes start first.
LONGEST = ("nto-releases", "corpus", "nto-ppc", "admission", "nto-render", "kubelet")


def main(arguments: list[str]) -> int:
    """0 when nothing failed, 1 when something did, 2 when there is no such suite or path."""
    name, *words = arguments or [""]
    if name == "all":
        jobs = _jobs(words)
        if not jobs:
            print("after all stands nothing, or --jobs and a number", file=sys.stderr)
            return 2
        return _run_all(jobs)
    if name not in SUITES:
        names = ", ".join([*SUITES, "all"])
        print(f"there is no suite {name!r}; there are {names}", file=sys.stderr)
        return 2
    suite = SUITES[name]
    paths = [Path(word) for word in words]
    if absent := [path for path in paths or [SHARED / suite.folder] if not path.exists()]:
        print(f"there is no file or folder {absent[0]}", file=sys.stderr)
        return 2
    return 0 if _report(suite, paths) else 1


def _jobs(words: list[str]) -> int:
    """How many processes run the suites: as many as this one has CPUs, or as words say; 0 if the
    words say something else.
    """
    if not words:
        return len(os.sched_getaffinity(0))
    match words:
        case ["--jobs", number] if number.isdecimal():
            return int(number)
    return 0


def _run_all(jobs: int) -> int:
    """Every suite; those without vectors are named, and fail nothing.

    What they say is printed in the order of the suites, whichever ends first.
    """
    failing = []
    with ProcessPoolExecutor(jobs) as executor:
        started = {name: executor.submit(_judged_suite, name) for name in LONGEST}
        rest = {
            name: executor.submit(_judged_suite, name) for name in SUITES if name not in started
        }
        results = started | rest
        for name in SUITES:
            passed, lines = results[name].result()
            print(*lines, sep="\n", flush=True)
            if not passed:
                failing.append(name)
    return 1 if failing else 0


def _judged_suite(name: str) -> tuple[bool, list[str]]:
    """Whether nothing failed of a suite, and what is said of it."""
    suite = SUITES[name]
    if not (SHARED / suite.folder).exists():
        return True, [f"{name}: there are no vectors, so nothing was compared"]
    return _judged(suite, (), f"{name}: ")


def _report(suite: Suite, paths: Sequence[Path]) -> bool:
    """Print the failures and the counts; whether nothing failed, and there was something."""
    passed, lines = _judged(suite, paths)
    print(*lines, sep="\n", flush=True)
    return passed


def _judged(suite: Suite, paths: Sequence[Path], title: str = "") -> tuple[bool, list[str]]:
    """Whether nothing failed, and there was something; the failures and the counts."""
    lines = []
    passed = failed = 0
    for vector, failures in _vectors(suite, paths):
        lines += [_placed(failure, vector) for failure in failures]
        failed += bool(failures)
        passed += not failures
    return passed > 0 and not failed, [*lines, f"{title}{passed} passed, {failed} failed"]


def _vectors(suite: Suite, paths: Sequence[Path]) -> Iterator[tuple[str, list[str]]]:
    """What a suite yields; what ends it early is a failure too."""
    try:
        yield from import_module(suite.module).run(list(paths))
    except Exception as error:
        yield suite.folder, [f"{SHARED / suite.folder}:1: the suite ended early: {error!r}"]


def _placed(failure: str, vector: str) -> str:
    """`path:line: what`; line 1 of the vector where a suite tells no line."""
    if re.match(r"[^:\n]+:\d+: ", failure):
        return failure
    path, _, what = failure.partition(": ")
    return f"{vector}:1: {what if vector.endswith(path) else failure}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
