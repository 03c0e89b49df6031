"""The CPU's maker and model, and whether its cores have several threads."""

import re
from collections.abc import Iterator

from cpuplan.check.machine.files import SYSTEM
from cpuplan.check.machine.layout import Look
from cpuplan.check.subject import Subject
from cpuplan.components.derived import CPU_MODEL, CPU_VENDOR, MODEL_NUMBER, ONLINE

_CPUINFO = "proc/cpuinfo"
_FIELD = re.compile(r"^([A-Za-z_ ]+?)\s*:\s*(.*?)\s*$", re.MULTILINE)
#: Characters of the first processor's lines.
_ENOUGH = 16_384
_WORD = re.compile(r"[a-z0-9]+")
#: In names of CPUs; they say nothing about which one it is.
_COMMON = frozenset(("r", "tm", "cpu", "processor", "intel", "amd", "with", "core", "cores"))


#: Of `smt/control`: siblings are off, and stay so.
_OFF = ("off", "forceoff")


def looks(subject: Subject) -> Iterator[Look]:
    """Maker, number and name of the model, then SMT."""
    text = (subject.root.read(_CPUINFO) or "")[:_ENOUGH].partition("\n\n")[0]
    fields: dict[str, str] = {}
    for key, value in _FIELD.findall(text):
        fields.setdefault(key.strip(), value)
    for fact, key, words in (
        (CPU_VENDOR, "vendor_id", "its CPUs are of {} instead of {}"),
        (MODEL_NUMBER, "model", "its CPUs have model number {} instead of {}"),
        (CPU_MODEL, "model name", "its CPUs are {} instead of {}"),
    ):
        yield _field(subject, fact, fields.get(key, ""), words)
    yield _smt(subject)


def _field(subject: Subject, fact: str, found: str, words: str) -> Look:
    wanted = subject.expected.facts.get(fact, "")
    about = f"machine {fact}"
    if wanted == "":
        return Look(about, _CPUINFO, "the inventory does not say it", is_unplanned=True)
    if not found:
        return Look(about, _CPUINFO, "there is nothing of it here")
    if found == str(wanted) or (fact == CPU_MODEL and _is_same(found, str(wanted))):
        return Look(about, _CPUINFO)
    return Look(about, _CPUINFO, "", words.format(found, wanted))


def _is_same(one: str, other: str) -> bool:
    """Whether two names are of one model: the words of one that mean something are in the other."""
    words, others = _words(one), _words(other)
    return not words or not others or words <= others or others <= words


def _words(name: str) -> set[str]:
    """`Intel(R) Xeon(R) Gold 6338N CPU @ 2.00GHz`: xeon, gold, 6338n."""
    return set(_WORD.findall(name.partition("@")[0].lower())) - _COMMON


def _smt(subject: Subject) -> Look:
    """`smt/active` is 1 where some core has two threads online."""
    fact, path = "machine SMT", f"{SYSTEM}/smt/active"
    text = (subject.root.read(path) or "").strip()
    if text not in ("0", "1"):
        return Look(fact, path, "there is no such file here")
    control = f"{SYSTEM}/smt/control"
    if (subject.root.read(control) or "").strip() in _OFF:
        text, path = "0", control
    topology, online = subject.expected.topology, subject.expected.cpus(ONLINE)
    wanted = any(len(each & online) > 1 for each in topology.cores.values())
    if wanted == (text == "1") or (text == "1" and topology.threads_per_core > 1):
        return Look(fact, path)
    words = ("on", "off") if text == "1" else ("off", "on")
    return Look(fact, path, "", f"SMT is {words[0]} instead of {words[1]}")
