"""All objects of some files, for one release of Koordinator: nodes, pods and its ConfigMaps."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from cpuplan.base import yaml_values
from cpuplan.base.text import did_you_mean, joined
from cpuplan.components.koordinator import release_names
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field, Source
from cpuplan.facts.settings.objects import BIND_POLICY, NUMA_SCORING, SCORING
from cpuplan.facts.versions import Version
from cpuplan.language.model.intent import Target
from cpuplan.plan import NodePlan
from cpuplan.simulate.files import koordinator_pods
from cpuplan.simulate.files.koordinator_pods import (
    NUMA_POLICIES,
    fields_of,
    unread_fields,
    unread_names,
    unreadable,
    without_effect,
)
from cpuplan.simulate.files.objects import (
    NRT,
    PROFILE,
    SCHEDULER_CONFIG,
    SLO_CONFIG,
    Object,
    is_koordinators,
    objects,
    template,
)
from cpuplan.simulate.manifests import Item
from cpuplan.upstream.koordinator.extension import constants, numa_aware
from cpuplan.upstream.koordinator.extension import node as annotations
from cpuplan.upstream.koordinator.extension.releases import CONFIG_KEYS, LATEST, NODE_NAMES, name_of
from cpuplan.upstream.koordinator.nodenumaresource.scoring import read_args
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.koordinator.webhook import slo_config_plugin, slo_controller_config
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import CPU

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


def check_slo_config(manifest: Object, release: Version) -> Iterator[Diagnostic]:
    """Each key by itself, so that the mistakes of all are told at once."""
    data = manifest.texts("data")
    for key, text in data.items():
        field: Field = ("data", key)
        span = CONFIG_KEYS.get(key)
        if span is None or not span.has(release):
            yield _unread(manifest, key, release)
            continue
        problem = _refusal(key, data)
        if problem:
            yield manifest.finding(problem[0], field, key=key, **problem[1])
            continue
        for failure in slo_controller_config.failures(key, text):
            hint = "write ratios of at least 1, and values of the type that is named"
            yield manifest.finding("CP648", field, key=key, problem=failure, hint=hint)
        yield from _words(manifest, key, text)


def _unread(manifest: Object, key: str, release: Version) -> Diagnostic:
    span = CONFIG_KEYS.get(key)
    problem, hint = "no release has the key", did_you_mean(key, CONFIG_KEYS)
    if span:
        problem = f"it is read from release {name_of(span.since)} on"
        hint = f"update Koordinator to {name_of(span.since)} or later"
    return manifest.finding(
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


def _words(manifest: Object, key: str, text: str) -> Iterator[Diagnostic]:
    """Words that no one knows, of the cluster and of groups of nodes."""
    if key not in _WORDS or not text:
        return
    config = fields_of(text)
    groups = config.get("nodeStrategies") or config.get("nodeConfigs") or ()
    for section in (config, config.get("clusterStrategy") or {}, *groups):
        for name, known in _WORDS[key].items():
            value = section.get(name)
            if value and value not in known:
                problem = f"any text passes, and it is treated as {known[0]}"
                hint = did_you_mean(value, known)
                yield without_effect(manifest, ("data", key), name, value, problem, hint)


def check_scheduler_config(manifest: Object) -> Iterator[Diagnostic]:
    """The arguments of NodeNUMAResource in each KubeSchedulerConfiguration of the ConfigMap."""
    for key, text in manifest.texts("data").items():
        for arguments in _arguments(text):
            yield from _check_arguments(manifest, ("data", key), arguments)


def _arguments(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        documents = list(yaml_values.load_yaml11(text))
    except (yaml.YAMLError, ValueError):
        return  # said by who reads the file, or no YAML at all
    for document in documents:
        profiles = document.get("profiles") if isinstance(document, dict) else None
        for profile in profiles if isinstance(profiles, list) else ():
            listed = profile.get("pluginConfig") if isinstance(profile, dict) else None
            for plugin in listed if isinstance(listed, list) else ():
                if isinstance(plugin, dict) and plugin.get("name") == _PLUGIN:
                    yield plugin.get("args") or {}


def _check_arguments(
    manifest: Object, field: Field, given: Mapping[str, Any]
) -> Iterator[Diagnostic]:
    try:
        arguments = read_args(given)
    except (KubeletError, AttributeError, TypeError) as error:
        hint = "use FullPCPUs or SpreadByPCPUs, LeastAllocated or MostAllocated, weights 1 to 100"
        yield manifest.finding("CP649", field, problem=error, hint=hint)
        return
    if not arguments.default_bind_policy:
        problem = "LSE and LSR pods without a policy of their own get no CPUs"
        hint = "use FullPCPUs or SpreadByPCPUs"
        yield without_effect(manifest, field, BIND_POLICY.key, '""', problem, hint)
    scoring = given.get(NUMA_SCORING.key) or {}
    if scoring.get("resources") and arguments.numa_scoring.resources != arguments.scoring.resources:
        weights = ", ".join(f"{name} {weight}" for name, weight in arguments.numa_scoring.resources)
        problem = f"the weights of {SCORING.key} are used instead"
        hint = f"set the weights in {SCORING.key}.resources"
        yield without_effect(
            manifest, field, f"{NUMA_SCORING.key}.resources", weights, problem, hint
        )


_LABELS: Field = ("metadata", "labels")
_ANNOTATIONS: Field = ("metadata", "annotations")
_BIND = (numa_aware.NODE_NONE, numa_aware.FULL_PCPUS_ONLY, numa_aware.NODE_SPREAD_BY_PCPUS)
_STRATEGIES = ("MostAllocated", "LeastAllocated")
_APPLY = (annotations.APPLY_DEFAULT, annotations.RESERVED_CPUS_ONLY)
_RATIOS = {
    constants.AMPLIFICATION_RATIO: "resource-amplification-config",
    constants.NORMALIZATION_RATIO: "cpu-normalization-config",
}
#: What koordlet writes into the NodeResourceTopology; on a Node nobody reads it.
_OF_KOORDLET = (
    constants.CPU_BASIC_INFO,
    constants.CPU_TOPOLOGY,
    constants.CPU_SHARED_POOLS,
    constants.BE_CPU_SHARED_POOLS,
    constants.POD_CPU_ALLOCS,
    constants.CPU_MANAGER_POLICY,
)


def check_node(manifest: Object, release: Version) -> Iterator[Diagnostic]:
    """Everything about a Node."""
    yield from unread_names(manifest, NODE_NAMES, release, ("metadata",))
    yield from _labels(manifest, release)
    texts = manifest.annotations
    if constants.RESERVATION in texts:
        yield from _reservation(manifest, texts, release)
    if constants.SYSTEM_QOS_RESOURCE in texts and NODE_NAMES[constants.SYSTEM_QOS_RESOURCE].has(
        release
    ):
        yield from _system_qos(manifest, texts, release)
    if not manifest.is_live:
        yield from _written_by_others(manifest, texts)


def _labels(manifest: Object, release: Version) -> Iterator[Diagnostic]:
    labels = manifest.labels
    policy = labels.get(constants.NUMA_TOPOLOGY_POLICY, "")
    is_read = NODE_NAMES[constants.NUMA_TOPOLOGY_POLICY].has(release)
    if is_read and policy and policy not in NUMA_POLICIES:
        yield manifest.finding(
            "CP643",
            (*_LABELS, constants.NUMA_TOPOLOGY_POLICY),
            key=constants.NUMA_TOPOLOGY_POLICY,
            value=policy,
            program="koord-scheduler",
            hint=f"for no policy leave the label out; {did_you_mean(policy, NUMA_POLICIES)}",
        )
    bind = labels.get(constants.CPU_BIND_POLICY, "")
    if bind and bind not in _BIND:
        problem = "this is no policy, and pods are bound as they ask"
        yield _label(manifest, constants.CPU_BIND_POLICY, bind, problem, did_you_mean(bind, _BIND))
    strategy = labels.get(constants.NUMA_ALLOCATE_STRATEGY, "")
    if strategy and strategy not in _STRATEGIES:
        problem = "it is treated as LeastAllocated"
        hint = did_you_mean(strategy, _STRATEGIES)
        yield _label(manifest, constants.NUMA_ALLOCATE_STRATEGY, strategy, problem, hint)
    reserves = labels.get(constants.ENABLE_NUMA_RESERVATION)
    if reserves not in (None, "true", "false"):
        problem = 'only "true" switches it on'
        yield _label(manifest, constants.ENABLE_NUMA_RESERVATION, reserves, problem, 'write "true"')


def _label(manifest: Object, key: str, value: object, problem: str, hint: str) -> Diagnostic:
    return without_effect(manifest, (*_LABELS, key), key, value, problem, hint)


def _reservation(
    manifest: Object, texts: Mapping[str, str], release: Version
) -> Iterator[Diagnostic]:
    field = (*_ANNOTATIONS, constants.RESERVATION)
    try:
        given = annotations.read_reservation(texts)
        parse_cpus(given.reserved_cpus if given else "")
    except KubeletError as error:
        yield unreadable(manifest, field, error, '{"reservedCPUs": "0-1"}')
        return
    if given is None:
        return
    yield from unread_fields(manifest, field, fields_of(texts[constants.RESERVATION]), release)
    if given.apply_policy and given.apply_policy not in _APPLY:
        hint = did_you_mean(given.apply_policy, _APPLY)
        problem = "this is no policy, and it is applied as Default"
        yield without_effect(manifest, field, "applyPolicy", given.apply_policy, problem, hint)
    if given.reserved_cpus and CPU in given.resources:
        problem = "reservedCPUs names the CPUs, and the number is not looked at"
        amount, hint = str(given.resources[CPU]), "leave one of the two out"
        yield without_effect(manifest, field, "resources.cpu", amount, problem, hint)


def _system_qos(
    manifest: Object, texts: Mapping[str, str], release: Version
) -> Iterator[Diagnostic]:
    field = (*_ANNOTATIONS, constants.SYSTEM_QOS_RESOURCE)
    try:
        parse_cpus(annotations.read_system_qos(texts).cpuset)
    except KubeletError as error:
        yield unreadable(manifest, field, error, '{"cpuset": "2-3"}')
        return
    given = fields_of(texts[constants.SYSTEM_QOS_RESOURCE])
    yield from unread_fields(manifest, field, given, release)


def _written_by_others(manifest: Object, texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key, config in _RATIOS.items():
        if key in texts:
            problem = f"it removes a ratio that {config} does not ask for"
            hint = f"set the ratio in {config} of slo-controller-config"
            yield _owned(manifest, key, "koord-manager", problem, hint)
    if constants.RAW_ALLOCATABLE in texts:
        problem = "its webhook keeps there what the kubelet reported"
        yield _owned(manifest, constants.RAW_ALLOCATABLE, "koord-manager", problem, "leave it out")
    for key in _OF_KOORDLET:
        if key in texts:
            problem = "it writes it into the NodeResourceTopology, and nobody reads it on the Node"
            yield _owned(manifest, key, "koordlet", problem, "leave it out")


def _owned(manifest: Object, key: str, owner: str, problem: str, hint: str) -> Diagnostic:
    field = (*_ANNOTATIONS, key)
    return manifest.finding("CP646", field, name=key, owner=owner, problem=problem, hint=hint)


def check_topology(manifest: Object) -> Iterator[Diagnostic]:
    """A NodeResourceTopology of Koordinator that is not read from a cluster."""
    if manifest.is_live:
        return
    owned = [key for key in (*_OF_KOORDLET, constants.RESERVATION) if key in manifest.annotations]
    if owned:
        problem = "it makes annotations and zones anew every few seconds"
        hint = "keep the object out of what is synced; set reservations on the Node"
        field = (*_ANNOTATIONS, owned[0])
        yield manifest.finding(
            "CP646", field, name=owned[0], owner="koordlet", problem=problem, hint=hint
        )


def check(sources: Iterable[Source], release: Version) -> list[Diagnostic]:
    """CP640 to CP649, and CP720 for pods that Kubernetes does not take.

    Where a ClusterColocationProfile is among the objects, classes of pods are not judged: the
    profile may set them.
    """
    manifests = list(objects(sources))
    has_profiles = any(manifest.kind == PROFILE for manifest in manifests)
    return _check_all(manifests, release, has_profiles=has_profiles)


def _check_all(
    manifests: Iterable[Object], release: Version, *, has_profiles: bool
) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for manifest in manifests:
        problems += _check(manifest, release, has_profiles=has_profiles)
    return problems


def _check(manifest: Object, release: Version, *, has_profiles: bool) -> Iterator[Diagnostic]:
    made = template(manifest)
    if made is not None:
        yield from koordinator_pods.check_pod(made, release, has_profiles=has_profiles)
    elif manifest.kind == "Node":
        yield from check_node(manifest, release)
    elif manifest.kind == NRT:
        yield from check_topology(manifest)
    elif manifest.kind == PROFILE:
        yield from koordinator_pods.check_profile(manifest, release)
    elif manifest.kind == "ConfigMap" and manifest.name == SLO_CONFIG:
        yield from check_slo_config(manifest, release)
    elif manifest.kind == "ConfigMap" and manifest.name == SCHEDULER_CONFIG:
        yield from check_scheduler_config(manifest)


def are_koordinators(sources: Sequence[Source]) -> bool:
    """Whether a file has only objects of which Koordinator reads something, and at least one."""
    manifests = list(objects(sources))
    return bool(manifests) and all(is_koordinators(manifest.data) for manifest in manifests)


def of_pods(items: Iterable[Item], plans: Sequence[NodePlan]) -> list[Diagnostic]:
    """The same for pods that are simulated on planned nodes, once for each document.

    Classes of pods are not judged where the plans have profiles that may give them.
    """
    sources = {id(item.source): item.source for item in items if item.source}
    has_profiles = any(plan.spec.koordinator.workloads for plan in plans)
    release = release_of(plan.node_class.target for plan in plans)
    return _check_all(objects(sources.values()), release, has_profiles=has_profiles)


def release_of(targets: Iterable[Target]) -> Version:
    """The one that all targets with Koordinator share, or the newest."""
    named = {release_names.release(target) for target in targets if target.has_koordinator}
    return (named.pop() if len(named) == 1 else None) or LATEST
