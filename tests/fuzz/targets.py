"""What is fuzzed: functions of bytes that raise nothing and touch nothing outside, whatever the
bytes are.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from cpuplan import importers
from cpuplan.backends import base, configure, openshift
from cpuplan.base.cpuset import MAX_CPU, CpuSet, CpuSetError
from cpuplan.base.emit import to_yaml
from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.fleet import hardware, synthetic
from cpuplan.importers import documents, formats
from cpuplan.language.read import documents as read_documents
from cpuplan.language.read import yaml
from cpuplan.pipeline.batch import check_node
from cpuplan.profiles import reader as openshift_profiles
from cpuplan.render import diagnostics as report_formats
from cpuplan.render.diagnostics import text as text_format
from cpuplan.render.diagnostics.report import Report, ordered
from tests.fuzz import commands, extremes, seeds, wholes
from tests.fuzz.mutation import disturbed
from tests.machines import trees

Target = Callable[[bytes], None]


class OutsideError(AssertionError):
    """A file outside of what was given was opened, listed or written."""


_inside: list[str] = []
_outside: list[str] = []
#: Modules are loaded while a target runs, and Python looks at its own; compiled ones it writes as
#: well.
_OWN = (str(seeds.REPOSITORY), sys.prefix, sys.base_prefix, "/usr/share/zoneinfo", "/dev/null")
_READS = frozenset({"open", "os.listdir", "os.scandir"})
_WRITES = frozenset(
    {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate"}
)
_NEVER = (
    "os.system",
    "subprocess.",
    "socket.connect",
    "os.exec",
    "os.fork",
    "shutil.",
    "os.chmod",
    "os.chown",
)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what is outside (sys.addaudithook). Nothing is raised: the code under test may catch
    anything.
    """
    if not _inside:
        return
    if event.startswith(_NEVER):
        _outside.append(f"{event} {arguments}")
    if event in _READS | _WRITES and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        writes = event in _WRITES or (
            event == "open"
            and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        )
        if (
            ".pyc" not in path
            and "__pycache__" not in path
            and (writes or not path.startswith((_inside[0], *_OWN)))
        ):
            _outside.append(f"{event} {path}")


sys.addaudithook(_audit)


@contextmanager
def confined(folder: str) -> Iterator[None]:
    """Raise OutsideError for what is written anywhere, and for what is read outside `folder`."""
    _outside.clear()
    _inside.append(folder)
    try:
        yield
    finally:
        _inside.clear()
    if _outside:
        raise OutsideError("; ".join(_outside))


def import_as(format_name: str) -> Target:
    """The importer of a format, given a file of these bytes; of a must-gather, the first byte says
    which file.
    """

    def target(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            if format_name == "must-gather":
                path = Path(folder)
                names = list(seeds.MUST_GATHER)
                files = {**seeds.MUST_GATHER, names[data[0] % len(names) if data else 0]: data[1:]}
                for name, content in files.items():
                    (path / name).parent.mkdir(parents=True, exist_ok=True)
                    (path / name).write_bytes(content)
            else:
                path = Path(folder, "worker-0")
                path.write_bytes(data)
            _check_import(format_name, path, folder)

    return target


def _check_import(format_name: str | None, path: Path, folder: str) -> None:
    with confined(folder):
        imported = importers.run(format_name, [path])
        texts = documents.render(imported) if imported.nodes else {}
    _tell(imported.diagnostics)
    if not imported.nodes:
        assert imported.diagnostics
        return
    sources = [source for name, text in texts.items() for source in _parsed(name, text)]
    read, problems = read_documents.from_sources(sources)
    assert not problems, problems
    for document in read.of_kind("Hardware"):
        topology, wrong = hardware.build(document.spec)
        assert topology is not None, wrong


def _parsed(name: str, text: str) -> list[Any]:
    sources, problems = yaml.parse(name, text)
    assert not problems, problems
    return sources


def sysfs(data: bytes) -> None:
    """A machine some of whose files hold something else: `<file>=<text>` by NULs, where one byte
    names the file.
    """
    names = sorted(seeds.FILES)
    files = dict(seeds.FILES)
    for item in data.split(b"\0"):
        if item:
            files[names[item[0] % len(names)]] = item[1:].decode("utf-8", "replace")
    import_as("sysroot")(trees.tar(files, "w"))


def detect(data: bytes) -> None:
    """A file of no known format, as `cpuplan import PATH` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "worker-0")
        path.write_bytes(data)
        _check_import(None, path, folder)


def project_yaml(data: bytes) -> None:
    """The reader of documents, and their models."""
    sources, problems = yaml.parse("a.yaml", data.decode("utf-8", "replace"))
    read, more = read_documents.from_sources(sources)
    _tell([*problems, *more], data.decode("utf-8", "replace").splitlines())
    for document in read.of_kind("Hardware"):
        hardware.build(document.spec)


def cpu_lists(data: bytes) -> None:
    """Every form of a set of CPUs; what is read is written and read back."""
    text = data.decode("utf-8", "replace")
    for parse in (CpuSet.parse, CpuSet.parse_kernel, CpuSet.parse_mask):
        with suppress(CpuSetError):
            cpus = parse(text)
            assert cpus.last <= MAX_CPU
            assert CpuSet.parse(str(cpus)) == cpus
            assert CpuSet.parse_kernel(cpus.kernel_list()) == cpus
            assert CpuSet.parse_mask(cpus.mask()) == cpus


def profiles(data: bytes) -> None:
    """A PerformanceProfile and its cluster with other values in some places, which the bytes
    choose.
    """
    random = Random(data)  # noqa: S311 - no secret
    objects = [disturbed(random, item) for item in seeds.PROFILE]
    texts = [json.dumps(item) for item in objects if isinstance(item, dict)]
    sources, problems = yaml.parse("a.yaml", "\n---\n".join(texts))
    read = openshift_profiles.read(sources)
    problems += read.diagnostics
    for document in read.intents:
        parsed, again = read_documents.from_sources(
            _parsed("b.yaml", to_yaml(document.source.data))
        )
        assert not again, again
        assert parsed.of_kind("Intent")[0].spec == document.spec
        for architecture in ("x86_64", "aarch64", ""):
            plan = configure(
                synthetic.plan(document.name, document.spec, architecture=architecture)
            )
            problems += (against := check_node(plan, lambda _: None))
            if not errors(against):
                for manifest in openshift.manifests(plan):
                    base.to_file(manifest.data)
    _tell(problems)


def _tell(problems: Iterable[Diagnostic], lines: Sequence[str] = ()) -> None:
    """Whatever is found can be told, to people and in every format for programs."""
    report = Report(ordered(problems))
    text_format.render(report, read_lines=lambda _: lines)
    for name in report_formats.FORMATS:
        if name != "text":
            report_formats.render(name, report).encode()


TARGETS: dict[str, Target] = {
    **{name: import_as(name) for name in formats.FORMATS},
    "sysfs": sysfs,
    "detect": detect,
    "yaml": project_yaml,
    "profiles": profiles,
    "cpus": cpu_lists,
    **commands.COMMANDS,
    **wholes.COMMANDS,
    **extremes.COMMANDS,
}


def seeds_of(name: str) -> tuple[bytes, ...]:
    """What the target is fed at first."""
    others = {
        "sysfs": tuple(
            bytes((n,)) + text for n in range(0, len(seeds.FILES), 5) for text in seeds.CPU_LISTS
        ),
        "detect": tuple(data for every in seeds.FORMATS.values() for data in every),
        "yaml": seeds.documents(),
        "profiles": tuple(map(str.encode, map(str, range(40)))),
        "cpus": seeds.CPU_LISTS,
    }
    if name in wholes.COMMANDS or name in extremes.COMMANDS:
        return tuple(map(str.encode, map(str, range(20))))
    if name in commands.COMMANDS:
        return commands.seeds_of(name)
    return others[name] if name in others else seeds.FORMATS[name]
