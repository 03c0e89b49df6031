"""Write constraints/: each release that CI installs, with the hashes of all its files.

`python -m tests.supply.lock` takes the newest releases that pyproject.toml allows, for every Python
and platform at once, so that a wheel for aarch64 or Python 3.13 is in it as well. uv resolves; the
extra `supply` brings it.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "constraints"
OLDEST_PYTHON = "3.11"
#: By file: the extra whose dependencies are locked ("" is cpuplan's own), and whether the build's
#: are in it too.
FILES = {"run.txt": ("", False), "dev.txt": ("dev", True), "supply.txt": ("supply", False)}
_PIN = re.compile(r"^([a-z0-9-]+)==(\S+?)(?: ; (.*?))?(?: \\)?$")


class Pin(NamedTuple):
    """One release that is installed where its marker, if any, holds."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def wanted(name: str) -> list[str]:
    """The requirements that the file `name` locks, as pyproject.toml has them, sorted."""
    extra, build = FILES[name]
    data = project()
    requirements = [*data["project"]["dependencies"]] if extra in ("", "dev") else []
    requirements += data["project"]["optional-dependencies"][extra] if extra else []
    return sorted([*requirements, *(data["build-system"]["requires"] if build else ())])


def pins(name: str) -> list[Pin]:
    """What the file `name` locks."""
    listed: list[Pin] = []
    for line in (FOLDER / name).read_text().splitlines():
        if match := _PIN.match(line):
            listed.append(Pin(match[1], match[2], match[3] or "", ()))
        elif line.startswith("    --hash="):
            listed[-1] = listed[-1]._replace(
                hashes=(*listed[-1].hashes, line.strip(" \\").removeprefix("--hash="))
            )
    return listed


def recorded(name: str) -> list[str]:
    """The requirements that the file `name` was made from, as it says itself."""
    lines = (FOLDER / name).read_text().splitlines()
    return [line.removeprefix("#   ") for line in lines if line.startswith("#   ")]


def write(name: str) -> None:
    """Resolve and write the file `name`."""
    command = [
        "uv",
        "pip",
        "compile",
        "-",
        "--universal",
        "--python-version",
        OLDEST_PYTHON,
        "--generate-hashes",
    ]
    command += [
        "--no-annotate",
        "--no-header",
        "--quiet",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--no-config",
    ]
    if name == "dev.txt":
        command += ["--constraint", str(FOLDER / "run.txt")]
    done = subprocess.run(
        command, input="\n".join(wanted(name)), text=True, check=True, stdout=subprocess.PIPE
    )
    head = "# Written by `python -m tests.supply.lock` from these requirements of pyproject.toml:\n"
    head += "".join(f"#   {requirement}\n" for requirement in wanted(name))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / name).write_text(head + done.stdout)


if __name__ == "__main__":
    for file in sys.argv[1:] or FILES:
        write(file)
