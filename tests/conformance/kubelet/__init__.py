"""The kubelet's own answers (vectors/kubelet) against those of `cpuplan.simulate`, op by op."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from tests.conformance.comparing import judge_lines
from tests.conformance.kubelet import (
    basics,
    checkpoints,
    configs,
    cpupolicy,
    memorypolicy,
    nodes,
    pods,
)
from tests.conformance.kubelet.shapes import Json, Op

VECTORS = Path(__file__).parents[3].parent / "shared" / "vectors" / "kubelet"
OPS: dict[str, Op] = {
    **basics.OPS,
    **pods.OPS,
    **checkpoints.OPS,
    **cpupolicy.OPS,
    **memorypolicy.OPS,
    **nodes.OPS,
    **configs.OPS,
}
#: Judged by the suite of this name, which goes through an import and the documents.
_OWN_SUITE = "machineinfo"
#: Where the order of a list says nothing.
_UNORDERED = {"kubeletconfig-validate": ("errors", "strictErrors")}


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) for every case of the files, or of the files in folders,
    `paths`.
    """
    for path in sorted(paths) or [VECTORS]:
        for file in sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]:
            yield from judge_lines(
                file, lambda case: None if case["op"] == _OWN_SUITE else check(case)
            )


def check(case: Json) -> Iterator[str]:
    """What of the answer to a case is not as the kubelet's."""
    answer = OPS.get(case["op"])
    if answer is None:
        yield f"{case['id']}: not built: {case['op']}"
        return
    try:
        found = answer(case["input"])
    except HangError:
        found = {"hang": True}
    except PanicError as panic:
        found = {"panic": str(panic)}
    except KubeletError as error:
        found = {"error": str(error)}
    unordered = _UNORDERED.get(case["op"], ())
    expected = case["expected"]
    for key in unordered:
        for answer_of in (expected, found):
            if isinstance(answer_of.get(key), list):
                answer_of[key] = sorted(answer_of[key])
    if difference := differ(expected, found, ""):
        yield f"{case['id']} ({case['source']}): {difference}"


def differ(expected: Any, found: Any, path: str) -> str:
    """The first difference, with the place where it is; empty when there is none."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in found:
                return f"{path}.{key}: absent, expected {json.dumps(expected[key])[:300]}"
            if key not in expected:
                return f"{path}.{key}: {json.dumps(found[key])[:300]}, expected nothing"
            if difference := differ(expected[key], found[key], f"{path}.{key}"):
                return difference
        return ""
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        differences = (
            differ(pair[0], pair[1], f"{path}[{i}]")
            for i, pair in enumerate(zip(expected, found, strict=True))
        )
        return next(filter(None, differences), "")
    if expected == found and isinstance(expected, bool) == isinstance(found, bool):
        return ""
    return f"{path}: {json.dumps(found)[:300]}, expected {json.dumps(expected)[:300]}"
