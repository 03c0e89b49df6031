"""Another value of the same form."""

import re

from cpuplan.base.cpuset import CpuSet
from cpuplan.facts.settings.row import Form


def other_cpus(cpus: CpuSet, among: CpuSet) -> CpuSet:
    """Another set of CPUs of the machine: one more, or one less."""
    rest = among - cpus
    return cpus | CpuSet([rest.first]) if rest else cpus - CpuSet([cpus.last])


def other_text(form: Form, text: str, among: CpuSet) -> str:
    """A text of the form that has another value."""
    text = text.strip()
    if form is Form.CPUS:
        return str(other_cpus(_cpus(text), among))
    if form is Form.MASK:
        return other_cpus(CpuSet.parse_mask(text), among).short_mask()
    if form is Form.WORD and "[" in text:
        words = re.sub(r"[][]", "", text).split()
        other = next(word for word in words if f"[{word}]" not in text)
        return " ".join(f"[{word}]" if word == other else word for word in words)
    return other_word(text)


def _cpus(text: str) -> CpuSet:
    return CpuSet.parse_kernel("" if text == "(null)" else text)


def other_word(text: str) -> str:
    """Another word: a number one higher, a switch the other way, or a letter more."""
    switched = {"Y": "N", "N": "Y", "yes": "no", "no": "yes", "on": "off", "off": "on"}
    if text in switched:
        return switched[text]
    return str(int(text) + 1) if re.fullmatch(r"-?\d+", text) else f"{text}x"


def written_otherwise(cpus: CpuSet) -> str:
    """The same set in another order, without ranges."""
    return ",".join(map(str, reversed(list(cpus))))
