"""The ConfigMaps slo-controller-config and koord-scheduler-config."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from cpuplan.base import yaml11
from cpuplan.base.text import did_you_mean, joined
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field
from cpuplan.platforms.versions import Version
from cpuplan.simulate.koordinatorfiles.metadata import said
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.upstream.koordinator.extension.releases import CONFIG_KEYS, name_of
from cpuplan.upstream.koordinator.nodenumaresource.scoring import read_args
from cpuplan.upstream.koordinator.webhook import slo_config_plugin, slo_controller_config
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError

_SYSTEM = "system-config"
_PLUGIN = "NodeNUMAResource"
#: Words of which any passes, by key and field; of others the first one is taken, or none.
_WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "resource-threshold-config": {
        "cpuSuppressPolicy": ("cpuset", "cfsQuota"),
        "cpuEvictPolicy": ("evictByRealLimit", "evictByAllocatable"),
    },
    "cpu-burst-config": {"policy": ("none", "cpuBurstOnly", "cfsQuotaBurstOnly", "auto")},
    "colocation-config": {
        "cpuCalculatePolicy": ("usage", "maxUsageRequest"),
        "memoryCalculatePolicy": ("usage", "request", "maxUsageRequest"),
    },
}


def check_slo_config(found: Object, release: Version) -> Iterator[Diagnostic]:
    """Each key by itself, so that the mistakes of all are told at once."""
    data = found.texts("data")
    for key, text in data.items():
        field: Field = ("data", key)
        span = CONFIG_KEYS.get(key)
        if span is None or not span.has(release):
            yield _unread(found, key, release)
            continue
        problem = _refusal(key, data)
        if problem:
            yield found.finding(problem[0], field, key=key, **problem[1])
            continue
        for failure in slo_controller_config.failures(key, text):
            hint = "write ratios of at least 1, and values of the type that is named"
            yield found.finding("CP648", field, key=key, problem=failure, hint=hint)
        yield from _words(found, key, text)


def _unread(found: Object, key: str, release: Version) -> Diagnostic:
    span = CONFIG_KEYS.get(key)
    problem, hint = "no release has the key", did_you_mean(key, CONFIG_KEYS)
    if span:
        problem = f"it is read from release {name_of(span.since)} on"
        hint = f"update Koordinator to {name_of(span.since)} or later"
    return found.finding(
        "CP644", ("data", key), name=key, release=name_of(release), problem=problem, hint=hint
    )


def _refusal(key: str, data: Mapping[str, str]) -> tuple[str, dict[str, Any]] | None:
    """The code and values of what the webhook says of one key."""
    given = {name: data[name] for name in (key, _SYSTEM) if name in data}
    unchanged = {} if key == _SYSTEM else {_SYSTEM: given.get(_SYSTEM, "")}
    try:
        slo_config_plugin.check(given, unchanged)
    except PanicError:
        hint = "write {} for an empty configuration, or leave the key out"
        program = "the webhook of koord-manager"
        return "CP643", {"value": "null", "program": program, "hint": hint}
    except slo_config_plugin.SloConfigError as error:
        texts = joined(list(error.details.values()))
        return "CP642", {"problem": texts or _message(error), "hint": _hint(error)}
    return None


def _message(error: slo_config_plugin.SloConfigError) -> str:
    """The message within the webhook's JSON, or its text."""
    text = str(error)
    if not text.startswith("___"):
        return text
    message = json.loads(text.strip("_"))["message"]
    if isinstance(message, dict):
        return f"strategies {joined(message['strategies'])} select the same nodes"
    return str(message)


def _hint(error: slo_config_plugin.SloConfigError) -> str:
    text = str(error)
    if "Failed to parse System config" in text and error.key != _SYSTEM:
        return f'add the key {_SYSTEM}: "{{}}"'
    pair = [name for path, name in error.details.items() if "Percent" in name.split()[-1]]
    if pair:
        return "give both limits, the lower one less than the other"
    if "NodeStrategiesOverlap" in text:
        return "use selectors of which a node fulfils only one"
    return "use a value of the type and range that is named"


def _words(found: Object, key: str, text: str) -> Iterator[Diagnostic]:
    """Words that no one knows, of the cluster and of groups of nodes."""
    if key not in _WORDS or not text:
        return
    config = said(text)
    groups = config.get("nodeStrategies") or config.get("nodeConfigs") or ()
    for section in (config, config.get("clusterStrategy") or {}, *groups):
        for name, known in _WORDS[key].items():
            value = section.get(name)
            if value and value not in known:
                problem = f"any text passes, and it is treated as {known[0]}"
                yield found.finding(
                    "CP645",
                    ("data", key),
                    name=name,
                    value=value,
                    problem=problem,
                    hint=did_you_mean(value, known),
                )


def check_scheduler_config(found: Object) -> Iterator[Diagnostic]:
    """The arguments of NodeNUMAResource in each KubeSchedulerConfiguration of the ConfigMap."""
    for key, text in found.texts("data").items():
        for arguments in _arguments(text):
            yield from _check_arguments(found, ("data", key), arguments)


def _arguments(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        documents = list(yaml11.load(text))
    except (yaml.YAMLError, ValueError):
        return  # said by who reads the file, or no YAML at all
    for document in documents:
        profiles = document.get("profiles") if isinstance(document, dict) else None
        for profile in profiles if isinstance(profiles, list) else ():
            listed = profile.get("pluginConfig") if isinstance(profile, dict) else None
            for plugin in listed if isinstance(listed, list) else ():
                if isinstance(plugin, dict) and plugin.get("name") == _PLUGIN:
                    yield plugin.get("args") or {}


def _check_arguments(found: Object, field: Field, given: Mapping[str, Any]) -> Iterator[Diagnostic]:
    try:
        arguments = read_args(given)
    except (KubeletError, AttributeError, TypeError) as error:
        hint = "use FullPCPUs or SpreadByPCPUs, LeastAllocated or MostAllocated, weights 1 to 100"
        yield found.finding("CP649", field, problem=error, hint=hint)
        return
    if not arguments.default_bind_policy:
        problem = "LSE and LSR pods without a policy of their own get no CPUs"
        hint = "use FullPCPUs or SpreadByPCPUs"
        yield _argument(found, field, "defaultCPUBindPolicy", '""', problem, hint)
    scoring = given.get("numaScoringStrategy") or {}
    if scoring.get("resources") and arguments.numa_scoring.resources != arguments.scoring.resources:
        weights = ", ".join(f"{name} {weight}" for name, weight in arguments.numa_scoring.resources)
        problem = "the weights of scoringStrategy are used instead"
        hint = "set the weights in scoringStrategy.resources"
        yield _argument(found, field, "numaScoringStrategy.resources", weights, problem, hint)


def _argument(
    found: Object, field: Field, name: str, value: str, problem: str, hint: str
) -> Diagnostic:
    return found.finding("CP645", field, name=name, value=value, problem=problem, hint=hint)
