"""Does as a remedy says, in an intent's spec as it is written in YAML."""

import re
from typing import Any

from cpuplan.language.model.pools import POOLS, QOS_SETS, SIZES

PLACES = {
    "NUMA node": "numaNodes",
    "socket": "sockets",
    "die": "dies",
    "last-level cache": "caches",
}
#: Said of conflicts that no change of one statement settles.
SEVERAL = "change more than one of these statements"
UNTRIED = "change one or more of these statements: the changes that were tried are not enough"
WITHOUT = "; tried without the conflicts that no single change resolves"


def follow(spec: dict[str, Any], remedy: str) -> None:
    """Change the spec; fails for a remedy that nobody could follow."""
    match = re.fullmatch(r"(?:raise|lower) (\S+)\.(\w+) to (\d+)", remedy)
    if match:
        _at(spec, match[1])[match[2]] = int(match[3])
    elif match := re.fullmatch(r"write wholeCores: false under (.+)", remedy):
        for name in re.split(r", | and ", match[1]):
            _named(spec, name)["wholeCores"] = False
    elif match := re.fullmatch(r"write within: (\w+) under (\S+)", remedy):
        _named(spec, match[2])["within"] = match[1]
    elif match := re.fullmatch(r"list whole cores in (\S+)\.cpus: (\S+)", remedy):
        _at(spec, match[1])["cpus"] = match[2]
    elif remedy == "write isolated: rest":
        spec["pools"]["isolated"] = "rest"
    elif match := re.fullmatch(r"write rest: true under isolated instead of (.+)", remedy):
        for key in re.split(r", | and ", match[1]):
            del spec["pools"]["isolated"][key]
        spec["pools"]["isolated"]["rest"] = True
    elif match := re.fullmatch(r"remove (\S+?)\.((?:apart|together)\.)?([\w.]+)", remedy):
        _take_out(spec, remedy.removeprefix("remove "))
    elif match := re.fullmatch(r"move (\S+) to (.+) (\d+)", remedy):
        _named(spec, match[1])[PLACES[match[2]]] = int(match[3])
    elif match := re.fullmatch(r"switch off the rule (\S+) and give a reason", remedy):
        kept = [switch for switch in spec.get("rules", []) if switch.get("enable") != match[1]]
        spec["rules"] = [*kept, {"disable": match[1], "because": "it is tried"}]
    else:
        raise AssertionError(remedy)


def _at(spec: dict[str, Any], path: str) -> Any:
    """The mapping at a path; of a pool in its short form, a mapping that says the same."""
    keys = path.split(".")
    if keys[0] in POOLS:
        keys = ["pools", *keys]
    data: Any = spec
    for key in keys:
        if isinstance(data, list):
            data = data[int(key)]
            continue
        if key == "isolated" and data.get(key) is None:
            data[key] = {"rest": True}
        if isinstance(data[key], str | int):
            data[key] = {"rest": True} if data[key] == "rest" else {"cpus": data[key]}
        data = data[key]
    return data


def _named(spec: dict[str, Any], name: str) -> Any:
    if name in QOS_SETS:
        return _at(spec, f"qos.{name}")
    return _at(spec, name.replace(".", ".partitions.", 1))


def _take_out(spec: dict[str, Any], path: str) -> None:
    for relation in (".apart.", ".together."):
        owner, separator, other = path.partition(relation)
        if separator:
            del _at(spec, owner + relation[:-1])[other]
            return
    owner, _, key = path.rpartition(".")
    assert key not in SIZES
    del _at(spec, owner)[key]
