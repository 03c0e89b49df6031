"""Units: masked, not enabled, overridden, and what systemd says of them."""

import re
from collections.abc import Iterator

from tests.mutation.image import Link
from tests.mutation.mutation import Case, Mutation, named

FOLDER = "etc/systemd/system"
SHOWN = "cpuplan/systemctl-show"


def mutations(case: Case) -> Iterator[Mutation]:
    """Of each compiled unit, and foreign drop-ins for the programs that start pods."""
    for path, file in case.expected.files.items():
        folder, _, unit = path.lstrip("/").rpartition("/")
        if folder != FOLDER or "@" in unit:
            continue
        about = named(unit, unit.partition(".")[0])
        yield Mutation("units", f"{unit} masked", {f"{folder}/{unit}": Link("/dev/null")}, about)
        yield Mutation("units", f"{unit} in a stronger folder", _stronger(unit), about)
        if "[Install]" in file.text:
            yield from _enabling(case, unit, about)
        if unit.endswith(".service"):
            yield from _result(case, unit, about)
    isolated = case.expected.cpus("isolated CPUs")
    for unit in ("kubelet.service", "crio.service", "containerd.service"):
        for key in ("CPUAffinity", "AllowedCPUs"):
            text = f"[Service]\n{key}=\n{key}={isolated}\n"
            changes = {f"{FOLDER}/{unit}.d/99-zzz-site.conf": text}
            if isolated:
                yield Mutation(
                    "units", f"{unit} with {key}", changes, named(unit, "99-zzz-site.conf")
                )
    for unit in ("system.slice", "user.slice", "init.scope"):
        section = "Scope" if unit.endswith("scope") else "Slice"
        text = f"[{section}]\nAllowedCPUs=\nAllowedCPUs={isolated}\n"
        changes = {f"{FOLDER}/{unit}.d/99-zzz-site.conf": text}
        if isolated:
            yield Mutation("units", f"{unit} confined", changes, named(unit, "99-zzz-site.conf"))
    # Where a boot argument says it, it counts and not the file.
    if isolated and case.expected.settings.of("systemd"):
        yield Mutation(
            "units",
            "[Manager] CPUAffinity",
            {"etc/systemd/system.conf.d/99-zzz-site.conf": f"[Manager]\nCPUAffinity={isolated}\n"},
            "CPUAffinity",
        )


def _stronger(unit: str) -> dict[str, str]:
    return {f"etc/systemd/system.control/{unit}": "[Unit]\nDescription=Another\n"}


def _enabling(case: Case, unit: str, about: str) -> Iterator[Mutation]:
    for wants in case.image.names(FOLDER):
        link = f"{FOLDER}/{wants}/{unit}"
        if wants.endswith((".wants", ".requires")) and unit in case.image.names(
            f"{FOLDER}/{wants}"
        ):
            yield Mutation("units", f"{unit} not enabled", {link: None}, about)


def _result(case: Case, unit: str, about: str) -> Iterator[Mutation]:
    """The unit failed, as `systemctl show` says."""
    text = case.image.text(SHOWN) or ""
    blocks = re.split(r"\n\n", text)
    for number, block in enumerate(blocks):
        if f"\nId={unit}\n" in f"\n{block}\n":
            failed = re.sub(r"(?m)^ActiveState=.*$", "ActiveState=failed", block)
            failed = re.sub(r"(?m)^Result=.*$", "Result=exit-code", failed)
            failed = re.sub(r"(?m)^SubState=.*$", "SubState=failed", failed)
            changed = [*blocks[:number], failed, *blocks[number + 1 :]]
            yield Mutation("units", f"{unit} failed", {SHOWN: "\n\n".join(changed)}, about)
