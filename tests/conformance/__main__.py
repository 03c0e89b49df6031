"""`python -m tests.conformance SUITE [PATH...]`: one line for each failure, then how many vectors
passed and failed.
"""

import re
import sys
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
    "nto-ppc": Suite("tests.conformance.nto_ppc", "vectors/nto/ppc"),
    "crio": Suite("tests.conformance.crio", "vectors/crio"),
    "nto-render": Suite("tests.conformance.nto_render", "vectors/nto/render"),
}


def main(arguments: list[str]) -> int:
    """0 when nothing failed, 1 when something did, 2 when there is no such suite or path."""
    name, *words = arguments or [""]
    if name not in SUITES:
        print(f"there is no suite {name!r}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    suite = SUITES[name]
    paths = [Path(word) for word in words]
    if absent := [path for path in paths or [SHARED / suite.folder] if not path.exists()]:
        print(f"there is no file or folder {absent[0]}", file=sys.stderr)
        return 2
    passed = failed = 0
    for vector, failures in import_module(suite.module).run(paths):
        for failure in failures:
            print(_placed(failure, vector))
        failed += bool(failures)
        passed += not failures
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _placed(failure: str, vector: str) -> str:
    """`path:line: what`; line 1 of the vector where a suite tells no line."""
    if re.match(r"[^:\n]+:\d+: ", failure):
        return failure
    path, _, what = failure.partition(": ")
    return f"{vector}:1: {what if vector.endswith(path) else failure}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
