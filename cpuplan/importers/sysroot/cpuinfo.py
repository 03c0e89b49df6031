"""/proc/cpuinfo: model, architecture, and the CPUs where there is no sysfs (proc_cpuinfo(5))."""

import re
from typing import NamedTuple

from cpuplan.base.cpuset import MAX_CPU

_MAX_LINE = 4096  # the longest ones, the flags, have 2,000 characters
# the kernel's names have 48 on x86 (CPUID leaves 0x80000002 to 4), no more elsewhere
_MAX_MODEL = 128
#: MIDR implementers (arch/arm64/include/asm/cputype.h), as lscpu names them.
ARM_VENDORS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x61: "Apple",
    0x6D: "Microsoft",
    0x70: "Phytium",
    0xC0: "Ampere",
}
#: `CPU architecture` of 64-bit kernels; older ones print the words.
ARM_64 = frozenset({"8", "AArch64"})
#: `cpu` of 64-bit PowerPC (arch/powerpc/kernel/cpu_specs_book3s_64.h).
POWER_64 = re.compile(r"POWER[0-9]|PPC9|Cell Broadband|PA6T|RS64|e[56]500")


class CpuInfo(NamedTuple):
    """What the first processor's lines say. `architecture` is None if they do not contain it."""

    architecture: str | None
    vendor: str | None
    model: str | None
    model_number: int | None


class Processor(NamedTuple):
    """One processor: what its kernel prints of x86 topology."""

    cpu: int
    socket: int | None
    core_id: int | None


def parse(text: str) -> CpuInfo:
    """The model, from the first processor's lines; s390 and POWER have separate lines for it."""
    first = _fields(text, 64)
    architecture = _architecture(first)
    vendor = first.get("vendor_id") or first.get("mvendorid")
    if "CPU implementer" in first:
        vendor = ARM_VENDORS.get(to_number(first["CPU implementer"]) or 0)
    model = first.get("model name") or first.get("Model Name")
    if model is None and architecture in ("ppc64le", "other"):
        model = first.get("cpu") or first.get("family")
    number = to_number(first.get("model", "")) if architecture == "x86_64" else None
    shown = " ".join(model.split())[:_MAX_MODEL] if model else None
    return CpuInfo(architecture, vendor[:_MAX_MODEL] if vendor else None, shown, number)


def processors(text: str) -> list[Processor]:
    """All processors of an x86 cpuinfo, ascending."""
    by_cpu = {}
    for block in text.split("\n\n", MAX_CPU + 1)[: MAX_CPU + 1]:
        fields = _fields(block, 64)
        cpu = to_number(fields.get("processor", ""))
        if cpu is not None:
            by_cpu[cpu] = Processor(
                cpu, to_number(fields.get("physical id", "")), to_number(fields.get("core id", ""))
            )
    return [by_cpu[cpu] for cpu in sorted(by_cpu)]


def _architecture(fields: dict[str, str]) -> str | None:
    """As uname(1) says it; `other` for what Kubernetes does not run on.

    That is Itanium, SPARC, 32-bit Arm and 32-bit PowerPC. Big-endian POWER counts as ppc64le.
    """
    arm = "CPU implementer" in fields
    arm_32 = arm and fields.get("CPU architecture", "8") not in ARM_64
    power_64 = POWER_64.match(fields.get("cpu", "")) is not None
    power_32 = "(pvr " in fields.get("revision", "") and not power_64
    signs = {
        "x86_64": "flags" in fields and "vendor_id" in fields,
        "other": fields.get("arch") == "IA-64" or "type" in fields or arm_32 or power_32,
        "aarch64": arm,
        "s390x": fields.get("vendor_id") == "IBM/S390",
        "riscv64": fields.get("isa", "").startswith("rv64"),
        "loongarch64": "Loongson" in fields.get("CPU Family", ""),
        "ppc64le": power_64,
    }
    return next((name for name, is_there in signs.items() if is_there), None)


def _fields(text: str, lines: int) -> dict[str, str]:
    """The `key : value` pairs of the first lines, the first value of each key."""
    fields: dict[str, str] = {}
    for line in text.split("\n", lines)[:lines]:
        key, colon, value = line[:_MAX_LINE].partition(":")
        if colon and value.strip():
            fields.setdefault(key.strip(), value.strip())
    return fields


def to_number(text: str) -> int | None:
    """A decimal or 0x number; None for other texts, and for more digits than the kernel prints."""
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if abs(number) < 1 << 32 else None
