"""What the next boot will be, and what the kernel said of this one."""

from collections.abc import Iterator

from cpuplan.components import cmdline, kernel
from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation, named

GRUB = "boot/grub/grub.cfg"
LOG = "cpuplan/dmesg"


def mutations(case: Case) -> Iterator[Mutation]:
    """Each argument is missing in the boot loader's file; the kernel passed one over."""
    text = case.image.text(GRUB)
    for setting in case.expected.settings.of(kernel.NAME) if text else ():
        words = " ".join(map(cmdline.quote, cmdline.words(setting.key, setting.value)))
        if text and words in text:
            changes = {GRUB: text.replace(words, "")}
            about = f"{named(setting.key.partition('=')[0])}|next boot|grub"
            yield Mutation("loader", f"{setting.key} is not in {GRUB}", changes, about)
    log = case.image.text(LOG)
    if log and case.expected.settings.values(kernel.NAME).get("nohz_full"):
        said = 'Unknown kernel command line parameters "nohz_full", will be passed to user space.'
        changed: dict[str, Content] = {
            LOG: f"{log}[    0.100000] {said}\n",
            "sys/devices/system/cpu/nohz_full": None,
        }
        yield Mutation("loader", "the kernel does not know nohz_full", changed, "nohz_full")
