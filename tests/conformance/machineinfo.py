"""The kubelet's view of made-up sysfs trees, against what cAdvisor and the kubelet made of them.

A tree is imported, written as documents and read back, as a machine of the corpus is.
"""

import gzip
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.kubelet.view import kubelet_topology
from tests.conformance.round_trip import read_back

VECTORS = (
    Path(__file__).parents[2].parent / "shared" / "vectors" / "kubelet" / "machineinfo.jsonl.gz"
)
_COUNTS = {
    "numCPUs": "num_cpus",
    "numCores": "num_cores",
    "numSockets": "num_sockets",
    "numNUMANodes": "num_numa_nodes",
    "numUncoreCaches": "num_uncore_caches",
}


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(vector, what differs) for the vectors in the files `paths`."""
    for path in paths or (VECTORS,):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.splitlines():
            vector = json.loads(line)
            with tempfile.TemporaryDirectory() as folder:
                yield vector["id"], list(check(vector, Path(folder)))


def check(vector: dict[str, Any], root: Path) -> Iterator[str]:
    """What of the tree's topology is not as the kubelet sees it; `root` is an empty folder."""
    for name in vector["input"].get("dirs") or ():
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in vector["input"]["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    made = read_back(sysroot.read(root))
    yield from made.problems
    topology = made.hardware[0][1]
    if topology is None:
        return
    found, wanted = kubelet_topology(topology), vector["expected"]["topology"]
    for key, field in _COUNTS.items():
        if getattr(found, field) != wanted[key]:
            yield f"{key} is {getattr(found, field)}, not {wanted[key]}"
    rows = [list(row) for row in found.cpus]
    if rows != sorted(wanted["cpus"]):
        yield f"the CPUs are {rows}, not {sorted(wanted['cpus'])}"
