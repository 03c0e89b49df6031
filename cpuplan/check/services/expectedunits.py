"""The units that were compiled for a node, and what starts them."""

from typing import NamedTuple

from cpuplan.check.services.unitfiles import TYPES
from cpuplan.check.services.unitlines import Line, flag, last, lines
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.plan.expected.state import Expected

_WIRES = ("Wants", "Requires", "BindsTo", "Upholds")
_INSTALLS = ("WantedBy", "RequiredBy", "UpheldBy")
#: A rule of udev starts a unit with it.
_UDEV = 'SYSTEMD_WANTS}+="'


class CompiledUnit(NamedTuple):
    """A unit with a file that was compiled: its lines."""

    name: str
    lines: tuple[Line, ...]

    @property
    def path(self) -> str:
        """Its file, below the root."""
        return f"{UNIT_FOLDER}/{self.name}".lstrip("/")

    @property
    def is_template(self) -> bool:
        """Whether it only exists as instances."""
        return "@." in self.name

    @property
    def is_service(self) -> bool:
        """Whether it runs a program."""
        return self.name.endswith(".service")

    @property
    def is_installed(self) -> bool:
        """Whether a link must start it, made when it is enabled."""
        return any(line.section == "Install" and line.key in _INSTALLS for line in self.lines)

    @property
    def stays(self) -> bool:
        """Whether systemd goes on to show it as active after its program ended well."""
        return flag(last(self.lines, "RemainAfterExit"))


def compiled(expected: Expected) -> list[CompiledUnit]:
    """The compiled units by name."""
    start = f"{UNIT_FOLDER}/"
    found = []
    for path, file in sorted(expected.files.items()):
        name = path.removeprefix(start)
        if path.startswith(start) and "/" not in name and name.endswith(TYPES):
            found.append(CompiledUnit(name, tuple(lines(file.text, path.lstrip("/")))))
    return found


def started_by_files(expected: Expected) -> set[str]:
    """The units that other compiled files start: drop-ins, units and rules of udev."""
    found: set[str] = set()
    for path, file in expected.files.items():
        if path.startswith(f"{UNIT_FOLDER}/"):
            wires = (line for line in lines(file.text, path) if line.key in _WIRES)
            found.update(name for line in wires for name in line.value.split())
        elif path.endswith(".rules"):
            parts = file.text.split(_UDEV)[1:]
            found.update(part.partition('"')[0] for part in parts)
    return found
