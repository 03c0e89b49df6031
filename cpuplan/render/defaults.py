"""What cpuplan sets although no intent says so: `docs/defaults.md`, and what `explain` adds to a
setting.
"""

from collections.abc import Iterable, Iterator

from cpuplan import defaults
from cpuplan.components.reasons import DEFAULT
from cpuplan.defaults import Default
from cpuplan.setting import Setting

_HEAD = """# What nobody asked for

Made from its table by `python -m tests.generate`. An intent says what is wanted; this page says what cpuplan adds, why,
and how to say otherwise. `cpuplan explain NODE SETTING` says the same of one setting, and `cpuplan explain NAME` of one
entry of this page.

**On Kubernetes** there is only what something that was asked for needs: pools that are called reserved and isolated are
of no use while system services, interrupts and pause containers run everywhere. Nothing else reaches the kubelet's
configuration, the boot arguments or systemd. A low-latency node asks for what it needs:

```yaml
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: low-latency}
spec:
  selector: {matchLabels: {role: worker}}
  targets: [{platform: kubernetes, version: "1.36"}]
  pools: {reserved: {cores: 2, per: numaNode}, isolated: rest}
  isolation: {domain: true}
  workloadHints: {realTime: true} # all boot arguments that OpenShift's real-time nodes have, but for the IOMMU
  kubelet:
    topologyManagerPolicy: single-numa-node
    cpuManagerPolicyOptions: {full-pcpus-only: "true"}
    memoryManagerPolicy: Static # adds up these three: write them as the nodes have them
    kubeReserved: {memory: 500Mi}
    systemReserved: {memory: 500Mi}
    evictionHard: {memory.available: 100Mi}
  runtime: {handler: high-performance} # with CRI-O's hooks, and a RuntimeClass
  defaults:
  - {enable: iommu, because: the network cards are given to pods by VFIO}
```

**On OpenShift** there is also what its node tuning operator sets, so that a pool can move from one to the other. In
mode `performanceProfile` the operator itself sets it, and nothing of it can be switched.

Names are switched by `defaults: [{disable: NAME, because: ...}]` or `enable`; where a field is given, it is the field
that says otherwise. With shared CPUs, a cluster also gets admission policies for them (`runtime: {mixedCpus: false}`
says no), which on Kubernetes add the annotation that CRI-O needs (`runtime: {annotatePods: false}`).
"""


def reference() -> str:
    """The page: a table for each platform."""
    return "\n".join(
        [_HEAD, *_table("kubernetes", "Kubernetes"), *_table("openshift", "OpenShift")]
    )


def _table(platform: str, title: str) -> Iterator[str]:
    rows = [row for row in defaults.DEFAULTS if platform in row.on]
    yield f"## {title}\n"
    yield "| name | settings | why | to say otherwise |"
    yield "|---|---|---|---|"
    for row in rows:
        settings = "<br>".join(f"`{each}`" for each in row.shown)
        yield f"| `{row.name}` | {settings} | {row.reason} | {_otherwise(row)} |"
    yield ""
    if others := [
        row for row in defaults.DEFAULTS if platform not in row.on and platform in row.possible
    ]:
        yield f"Off on {title}, and switched on by:\n"
        yield "| name | setting | why one would | to have it |"
        yield "|---|---|---|---|"
        for row in others:
            settings = "<br>".join(f"`{each}`" for each in row.shown)
            yield f"| `{row.name}` | {settings} | {row.reason} | {wish(row)} |"
        yield ""


def _otherwise(row: Default) -> str:
    return (
        f"`{row.otherwise}`"
        if row.otherwise
        else f"`defaults: [{{disable: {row.name}, because: ...}}]`"
    )


def wish(row: Default) -> str:
    """What an intent writes to have a default where it is none."""
    if row.wish:
        return f"`{row.wish}`"
    also = ", or `workloadHints: {realTime: true}`" if row.real_time else ""
    return f"`defaults: [{{enable: {row.name}, because: ...}}]`{also}"


def rows_of(setting: Setting) -> list[Default]:
    """The defaults that a setting comes from."""
    texts = {reason.text for reason in setting.reasons if reason.origin == DEFAULT}
    return [
        row for row in defaults.of_setting(setting.component, setting.key) if row.reason in texts
    ]


def told(rows: Iterable[Default]) -> list[tuple[str, str]]:
    """(name, how an intent says otherwise) of each default, once."""
    found = (
        (row.name, row.otherwise or f"defaults: [{{disable: {row.name}, because: ...}}]")
        for row in rows
    )
    return list(dict.fromkeys(found))
