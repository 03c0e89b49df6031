"""The keys of slo-controller-config that no webhook checks: koord-manager reads them as it runs.

From apis/configuration/slo_controller_config.go and pkg/slo-controller/noderesource/plugins.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.upstream.koordinator.webhooks.sloconfig.types import LABEL_SELECTOR
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import float_text
from cpuplan.upstream.kubelet.go.unmarshal import (
    BOOL,
    FLOAT64,
    STRING,
    Type,
    map_of,
    slice_of,
    struct,
    unmarshal,
)

_AMPLIFICATION = "resource-amplification-config"
_NORMALIZATION = "cpu-normalization-config"
_RATIOS = {
    "enable": BOOL,
    "resourceAmplificationRatio": map_of(FLOAT64, "v1.ResourceName"),
}
_MODEL = struct(
    "configuration.ModelRatioCfg",
    baseRatio=FLOAT64,
    hyperThreadEnabledRatio=FLOAT64,
    turboEnabledRatio=FLOAT64,
    hyperThreadTurboEnabledRatio=FLOAT64,
)
_MODELS = {"enable": BOOL, "defaultRatio": FLOAT64, "ratioModel": map_of(_MODEL)}
_PROFILE = {"name": STRING, "nodeSelector": LABEL_SELECTOR}
_APPLICATION = struct(
    "v1alpha1.HostApplicationSpec",
    name=STRING,
    priority=Type("extension.PriorityClass", "string"),
    qos=Type("extension.QoSClass", "string"),
    cgroupPath=struct(
        "v1alpha1.CgroupPath",
        base=Type("v1alpha1.CgroupBaseType", "string"),
        parentDir=STRING,
        relativePath=STRING,
    ),
)
_APPLICATIONS = {"applications": slice_of(_APPLICATION)}


def _config(go_type: str, fields: Mapping[str, Type]) -> Type:
    nodes = Type(f"configuration.Node{go_type}", "object", {**_PROFILE, **fields})
    return Type(f"configuration.{go_type}", "object", {**fields, "nodeConfigs": slice_of(nodes)})


_TYPES = {
    _AMPLIFICATION: _config("ResourceAmplificationCfg", _RATIOS),
    _NORMALIZATION: _config("CPUNormalizationCfg", _MODELS),
    "host-application-config": _config("HostApplicationCfg", _APPLICATIONS),
}


def failures(key: str, text: str) -> list[str]:
    """What koord-manager finds when it uses the value of an unchecked key."""
    if key not in _TYPES or not text:
        return []
    try:
        value = unmarshal(text, _TYPES[key])
    except KubeletError as error:
        return [str(error)]
    sections = [value, *(value.get("nodeConfigs") or ())]
    return [problem for section in sections for problem in _ratio_problems(section)]


def _ratio_problems(section: Mapping[str, Any]) -> Iterator[str]:
    for name, ratio in (section.get("resourceAmplificationRatio") or {}).items():
        if ratio < 1:
            yield f"the ratio of {name} is {float_text(ratio)}, less than 1"
    for model, ratios in (section.get("ratioModel") or {}).items():
        for name, ratio in ratios.items():
            if ratio < 1:
                yield f"{name} of {model} is {float_text(ratio)}, less than 1"
