"""The kubelet and the runtimes: later files, flags, and state files."""

import json
from collections.abc import Iterator

from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation

STATE = "var/lib/kubelet/cpu_manager_state"
MEMORY_STATE = "var/lib/kubelet/memory_manager_state"


def mutations(case: Case) -> Iterator[Mutation]:
    """Of each key that the plan says, overridden by a file that is read later."""
    yield from _drop_ins(case)
    yield from _flags(case)
    yield from _state(case)
    yield from _crio(case)


_LINE = (
    "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0"
    "--config-dir=/etc/kubernetes/kubelet.conf.d\0"
)
#: Where an operator writes one file.
_POOL_LINE = "/usr/bin/kubelet\0--config=/etc/kubernetes/kubelet.conf\0"
#: A kubelet that is started by hand reads no folder of drop-ins, unless a flag says so.
_NO_FOLDER = "CP876"


def _drop_ins(case: Case) -> Iterator[Mutation]:
    release = case.expected.release
    folder = release.kubelet_drop_in.lstrip("/").rpartition("/")[0]
    if not folder or case.image.text(release.kubelet_drop_in.lstrip("/")) is None:
        return
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    for key, line in (
        ("reservedSystemCPUs", 'reservedSystemCPUs: "0"\n'),
        ("cpuManagerPolicy", "cpuManagerPolicy: none\n"),
        ("topologyManagerPolicy", "topologyManagerPolicy: best-effort\n"),
        (
            "cpuManagerPolicyOptions",
            "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\n",
        ),
    ):
        if any(setting.key.startswith(key) for setting in case.expected.settings.of("kubelet")):
            changes: dict[str, Content] = {f"{folder}/99-zzz-site.conf": head + line}
            yield Mutation("kubelet", f"a later drop-in sets {key}", changes, key, "kubelet")
    for what, text in (
        ("a drop-in without kind", "maxPods: 50\n"),
        ("a drop-in with an unknown key", f"{head}reservedSystemCpus: '0'\n"),
    ):
        changes = {f"{folder}/99-zzz-site.conf": text}
        yield Mutation("kubelet", what, changes, "99-zzz-site.conf|kind|reservedSystemCpus|kubelet")


def _flags(case: Case) -> Iterator[Mutation]:
    for pid in case.image.names("proc"):
        if (case.image.text(f"proc/{pid}/comm") or "").strip() != "kubelet":
            continue
        path = f"proc/{pid}/cmdline"
        line = case.image.text(path) or (_POOL_LINE if case.expected.platform.has_pools else _LINE)
        for flag, about in (
            ("--cpu-manager-policy=none", "cpuManagerPolicy|cpu-manager-policy"),
            ("--reserved-cpus=0", "reservedSystemCPUs|reserved-cpus"),
            ("--topology-manager-policy=none", "topologyManagerPolicy|topology-manager-policy"),
        ):
            changed: dict[str, Content] = {path: f"{line}{flag}\0"}
            yield Mutation("kubelet", f"flag {flag}", changed, about, _NO_FOLDER)
        without = "\0".join(
            word for word in line.split("\0") if not word.startswith("--config-dir")
        )
        if case.expected.release.kubelet_drop_in:
            about = "config-dir|kubelet"
            yield Mutation("kubelet", "no --config-dir", {path: without}, about, _NO_FOLDER)
        return


def _state(case: Case) -> Iterator[Mutation]:
    for path, about in ((STATE, "cpu_manager_state"), (MEMORY_STATE, "memory_manager_state")):
        text = case.image.text(path)
        if text is None:
            continue
        yield Mutation("kubelet", f"{path} damaged", {path: text[: len(text) // 2]}, about)
        data = json.loads(text)
        for key, value in (("policyName", "none"), ("checksum", 12345)):
            changed = json.dumps({**data, key: value})
            yield Mutation("kubelet", f"{path}: other {key}", {path: changed}, about)
        if "defaultCpuSet" in data:
            changed = json.dumps({**data, "defaultCpuSet": "0-3"})
            yield Mutation("kubelet", f"{path}: other defaultCpuSet", {path: changed}, about)


def _crio(case: Case) -> Iterator[Mutation]:
    settings = case.expected.settings
    if not settings.of("crio") or not case.image.names("etc/crio/crio.conf.d"):
        return
    for key in ("infra_ctr_cpuset", "shared_cpuset"):
        if settings.values("crio").get(key):
            text = f'[crio.runtime]\n{key} = "1"\n'
            changes: dict[str, Content] = {"etc/crio/crio.conf.d/99-zzz-site.conf": text}
            yield Mutation("kubelet", f"a later file of CRI-O sets {key}", changes, key)
