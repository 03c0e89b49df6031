"""Resources multiplied by ratios (apis/extension/node_resource_amplification.go)."""

import math
from collections.abc import Iterable, Mapping

from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.pods.nodefit import EPHEMERAL_STORAGE
from cpuplan.upstream.kubelet.pods.pod import CPU, MEMORY, Resources
from cpuplan.upstream.kubelet.quantity import Quantity


def amplify(amount: int, ratio: float) -> int:
    """`amount` times a ratio above 1, rounded up; the product is a float64, as in Go."""
    return math.ceil(float(amount) * ratio) if ratio > 1 else amount


def amplified(
    resources: Resources, ratios: Mapping[str, float], names: Iterable[str]
) -> dict[str, Quantity]:
    """The resources with those of `names` multiplied (AmplifyResourceList)."""
    result = dict(resources)
    for name in names:
        ratio, amount = ratios.get(name, 0), resources.get(name, quantity.ZERO)
        if ratio <= 1 or not amount.nano:
            continue
        if name == CPU:
            result[name] = of_milli(amplify(amount.milli, ratio))
            continue
        form = quantity.BINARY if name in (MEMORY, EPHEMERAL_STORAGE) else quantity.DECIMAL
        result[name] = quantity.of(amplify(amount.value, ratio), form)
    return result


def of_milli(amount: int, form: str = quantity.DECIMAL) -> Quantity:
    """`amount` thousandths."""
    return Quantity(amount * 10 ** (quantity.SCALE - 3), form)
