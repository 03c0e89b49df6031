"""TuneD's own code, run on profiles: `python3 tests/tuned_profile.py ROOT FOLDER`.

Requests are JSON on stdin. ROOT has the files of the package tuned (`/`, or where they were
unpacked), FOLDER is for temporary files. A request is {"profile": NAME, "texts": {NAME: TEXT},
"online": CPU LIST}; its answer is {"units": {NAME: what TuneD would do}, "cmdline": what the
bootloader plugin leaves in /etc/tuned/bootcmdline, after an earlier profile's}. For this script
alone is replaced what TuneD would read from and write to the machine: the online CPUs, and the
plugin's files.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ONLINE = "/sys/devices/system/cpu/online"
#: What a profile before this one, whose daemon was killed, may have left behind.
EARLIER = "isolcpus=managed_irq,1 earlier"


def _merged(root: Path, profiles: Path, name: str) -> tuple[Any, Any]:
    """(profile, variables) as TuneD loads them, with the package's own profiles as parents."""
    variables = import_module("tuned.profiles.variables").Variables()
    own = import_module("tuned.profiles")
    # Since 2.23 the package has its profiles in a folder of their own.
    vendor = [
        str(path)
        for path in (root / "usr/lib/tuned", root / "usr/lib/tuned/profiles")
        if path.is_dir()
    ]
    locator = own.Locator([*vendor, str(profiles)])
    return own.Loader(locator, own.Factory(), own.Merger(), None, variables).load(name), variables


def _unit(unit: Any, variables: Any) -> dict[str, Any]:
    options = {
        name: variables.expand(value) if isinstance(value, str) else value
        for name, value in unit.options.items()
    }
    return {
        "type": unit.type,
        "devices": unit.devices,
        "regex": unit.devices_udev_regex,
        "options": options,
    }


def _cmdline(unit: Any, variables: Any, folder: Path) -> str:
    """The file's last value after the plugin's start, as the node tuning operator reads it."""
    consts: Any = import_module("tuned.consts")
    written = folder / "bootcmdline"
    written.write_text(f'TUNED_BOOT_CMDLINE="{EARLIER}"\nTUNED_BOOT_INITRD_ADD=""\n')
    consts.BOOT_CMDLINE_FILE, consts.GRUB2_TUNED_TEMPLATE_PATH = str(written), str(written)
    consts.GRUB2_CFG_FILES, consts.GRUB2_DEFAULT_ENV_FILE = [], "/nonexistent"
    consts.BLS_ENTRIES_PATH, consts.BOOT_DIR = "/nonexistent", str(folder)
    module = import_module("tuned.plugins.plugin_bootloader")
    storage = type("Storage", (), {"create": staticmethod(lambda _name: None)})
    instances = import_module("tuned.plugins.instance.factory").Factory()
    plugin = module.BootloaderPlugin(None, storage, None, None, None, instances, None, variables)
    options = {name: value for name, value in unit.options.items() if name != "priority"}
    instance = plugin.create_instance("bootloader", unit.devices, None, None, None, options)
    plugin.init_devices()
    plugin.initialize_instance(instance)
    plugin.instance_apply_tuning(instance)
    lines = [
        line for line in written.read_text().splitlines() if line.startswith("TUNED_BOOT_CMDLINE=")
    ]
    return lines[-1].partition("=")[2].strip('"')


def _answer(root: Path, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    profiles = folder / "profiles"
    for name, text in request["texts"].items():
        (profiles / name).mkdir(parents=True, exist_ok=True)
        (profiles / name / "tuned.conf").write_text(text)
    commands = import_module("tuned.utils.commands").commands
    read_file = commands.read_file
    commands.read_file = lambda self, path, *args, **named: (
        request["online"] if path == ONLINE else read_file(self, path, *args, **named)
    )
    try:
        profile, variables = _merged(root, profiles, request["profile"])
        units = {
            name: _unit(unit, variables) for name, unit in profile.units.items() if unit.enabled
        }
        bootloader = profile.units.get("bootloader")
        return {
            "units": units,
            "cmdline": _cmdline(bootloader, variables, folder) if bootloader else EARLIER,
        }
    finally:
        commands.read_file = read_file


def main(root: Path, folder: Path) -> None:
    """Answer the requests on stdin, in their order."""
    sys.path.insert(0, str(root / "usr/lib/python3/dist-packages"))
    requests = json.load(sys.stdin)
    json.dump(
        [_answer(root, folder / str(number), request) for number, request in enumerate(requests)],
        sys.stdout,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
