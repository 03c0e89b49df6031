"""What the controllers write of KubeletConfigs and ContainerRuntimeConfigs.

Texts of errors and conditions are not compared.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from cpuplan.upstream.mco.common import McoError, Release
from cpuplan.upstream.mco.container_runtime_config_controller import ContainerRuntimeConfigs
from cpuplan.upstream.mco.controller_helpers import (
    Controller,
    Generated,
    Source,
    validate_container_runtime_config,
    validate_kubelet_config,
    validate_static_pods,
)
from cpuplan.upstream.mco.helpers import name_of
from cpuplan.upstream.mco.ignition.url import contents
from cpuplan.upstream.mco.kubelet_config_controller import KUBELET_CONF, KubeletConfigs, installed
from cpuplan.upstream.mco.render_controller import render, select
from tests.conformance.comparing import differ

Json = dict[str, Any]

BASE: Json = {}


def base() -> Json:
    """The kubelet's configuration of worker and master without any KubeletConfig."""
    path = Path(__file__).parents[3].parent / "shared" / "vectors" / "mco" / "base.json"
    if not BASE:
        BASE.update(json.loads(path.read_text(encoding="utf-8")))
    return BASE


def validate_kubeletconfig(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """Accepted or refused."""
    spec = given["kubeletConfig"].get("spec") or {}

    def check() -> None:
        validate_kubelet_config(spec, release)
        if "pool" in given:
            validate_static_pods(spec, given["pool"], release)

    yield from differ("accepted", expected["accepted"], not _is_refused(check))


def validate_containerruntimeconfig(given: Json, expected: Json, _: Release) -> Iterator[str]:
    """Accepted or refused."""
    spec = given["containerRuntimeConfig"].get("spec") or {}
    is_refused = _is_refused(lambda: validate_container_runtime_config(spec))
    yield from differ("accepted", expected["accepted"], not is_refused)


def _is_refused(check: Callable[[], object]) -> bool:
    try:
        check()
    except McoError:
        return True
    return False


def kubeletconfigs(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """Whichever of several recorded answers it is."""
    controller = KubeletConfigs(given["pools"], base(), release)
    answer = _answer(controller, given)
    answer["kubeletConfigs"] = {
        name: _source(source) for name, source in controller.sources.items()
    }
    answers = expected.get("one_of", [expected])
    wanted = [{**_without_texts(one), "kubeletConfigs": _conditions(one)} for one in answers]
    nearest = answer if answer in wanted else wanted[0]
    for key in sorted(answer.keys() | nearest.keys()):
        yield from differ(key, nearest.get(key), answer.get(key))


def _conditions(answer: Json) -> Json:
    sources = answer["kubeletConfigs"].items()
    return {
        name: {key: value for key, value in source.items() if key != "message"}
        for name, source in sources
    }


def _source(source: Source) -> Json:
    shown: Json = {"suffix": source.suffix, "condition": f"Accepted={source.accepted}"}
    if source.finalizers:
        shown["finalizers"] = sorted(source.finalizers)
    if source.annotations:
        shown["annotations"] = source.annotations
    return shown


def containerruntimeconfigs(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """The same for ContainerRuntimeConfigs."""
    controller = ContainerRuntimeConfigs(given["pools"], release)
    answer = _answer(controller, given)
    answer["suffix"] = {name: source.suffix for name, source in controller.sources.items()}
    for key in sorted(answer.keys() | expected.keys()):
        yield from differ(key, _without_texts(expected).get(key), answer.get(key))


def kubeletconfigs_install(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """What an installation writes."""
    try:
        written = installed(given["pools"], given["kubeletConfigs"], base(), release)
    except McoError:
        yield from differ("error", True, "error" in expected)
        return
    answer = sorted((_generated(config) for config in written), key=lambda one: one["name"])
    wanted = sorted(expected.get("machineConfigs", ()), key=lambda one: one["name"])
    yield from differ("machineConfigs", wanted, answer)


def _answer(controller: Controller, given: Json) -> Json:
    steps = [_step(controller, step) for step in given["steps"]]
    configs = controller.machine_configs
    return {
        "steps": steps,
        "machineConfigs": [_generated(configs[name]) for name in sorted(configs)],
        "on_nodes": dict(_on_nodes(given["pools"], configs.values())),
    }


def _step(controller: Controller, step: Json) -> Json:
    ((event, subject),) = step.items()
    shown: Json = {}
    try:
        _apply(controller, event, subject)
    except McoError:
        shown["error"] = True
    shown["machineConfigs"] = sorted(controller.machine_configs)
    return shown


def _apply(controller: Controller, event: str, subject: Any) -> None:
    if event == "node":
        assert isinstance(controller, KubeletConfigs)
        controller.set_node_config(subject)
    elif event == "restart":
        assert isinstance(controller, KubeletConfigs)
        controller.restart()
    else:
        getattr(controller, event)(subject)


def _without_texts(expected: Json) -> Json:
    steps = [{**step, "error": True} if "error" in step else step for step in expected["steps"]]
    return {**expected, "steps": steps}


def _generated(config: Generated) -> Json:
    shown: Json = {"name": config.name, "role": config.role}
    shown["files"] = _shown_files(config.files, config.role)
    if config.owner:
        shown["owner"] = config.owner
    if config.kernel_arguments:
        shown["kernelArguments"] = list(config.kernel_arguments)
    return shown


def _shown_files(files: Any, role: str) -> Json:
    shown = dict(files)
    if KUBELET_CONF in shown:
        defaults = base()["master" if role == "master" else "worker"]
        shown[KUBELET_CONF] = _difference(defaults, yaml.safe_load(shown[KUBELET_CONF]))
    return shown


def _difference(defaults: Json, fields: Json) -> Json:
    changed = {name: value for name, value in fields.items() if defaults.get(name) != value}
    shown: Json = {"set": changed}
    if removed := sorted(defaults.keys() - fields.keys()):
        shown["removed"] = removed
    return shown


def _on_nodes(pools: list[Json], configs: Iterable[Generated]) -> Iterator[tuple[str, Json]]:
    objects = [config.as_object() for config in configs]
    for pool in pools:
        if _is_refused(lambda pool=pool: select(pool, objects)):  # type: ignore[misc]
            continue
        rendered = render(pool, objects)
        if rendered is None:
            continue
        files = contents(rendered.config).items()
        texts = {path: data.decode() for path, data in files}
        yield name_of(pool), _shown_files(texts, name_of(pool))
