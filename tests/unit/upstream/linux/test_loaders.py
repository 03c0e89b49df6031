"""Boot menus as GRUB, systemd-boot and ostree have them."""

import pytest

from cpuplan.upstream.linux import loaders
from cpuplan.upstream.linux.loaders import in_order, is_rescue

MENU = """
if [ -s $prefix/grubenv ]; then
  load_env
fi
set default="${saved_entry}"
set kernelopts="root=/dev/sda1 ro"
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple' {
\tlinux\t/boot/vmlinuz-6.1 root=UUID=1 ro quiet isolcpus=2-3
\tinitrd\t/boot/initrd
}
submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced' {
\tmenuentry "Debian, with Linux 6.1 (recovery mode)" --id recovery {
\t\tlinux /boot/vmlinuz-6.1 $kernelopts single
\t}
}
"""


def test_a_menu_of_grub() -> None:
    menu = loaders.grub_menu(MENU, {"saved_entry": "gnulinux-simple"})
    assert [(entry.name, entry.arguments, entry.line) for entry in menu.entries] == [
        ("gnulinux-simple", "root=UUID=1 ro quiet isolcpus=2-3", 8),
        ("recovery", "root=/dev/sda1 ro single", 13),
    ]
    assert menu.default == "gnulinux-simple"
    assert not menu.has_bls
    assert [is_rescue(entry) for entry in menu.entries] == [False, True]


def test_a_menu_that_adds_entries_of_the_specification() -> None:
    assert loaders.grub_menu("insmod blscfg\nblscfg\n", {}).has_bls


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('GRUB_CMDLINE_LINUX="a=1"\nGRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX b=2" # x\n', "a=1 b=2"),
        ("GRUB_CMDLINE_LINUX='a=1'\nGRUB_CMDLINE_LINUX+=' b=2'\n", "a=1 b=2"),
        ("export GRUB_CMDLINE_LINUX=a=1\n#GRUB_CMDLINE_LINUX=b\n", "a=1"),
        ('GRUB_CMDLINE_LINUX="a=1 \\\nb=2"\n', "a=1  b=2"),
        ('GRUB_CMDLINE_LINUX="a=1\n', "a=1"),
    ],
)
def test_what_a_menu_is_made_from(text: str, arguments: str) -> None:
    assert loaders.grub_defaults([text])["GRUB_CMDLINE_LINUX"] == arguments


def test_an_entry_of_the_specification() -> None:
    text = "title Fedora (6.1)\nversion 6.1.0-56\n# x\noptions $kernelopts\noptions nohz_full=2-3\n"
    entry = loaders.bls_entry(
        "abc-6.1", text, loaders.grub_environment("# GRUB\nkernelopts=ro quiet\n#####")
    )
    assert (entry.title, entry.version) == ("Fedora (6.1)", "6.1.0-56")
    assert entry.arguments == "ro quiet nohz_full=2-3"


def test_versions_are_ordered_by_numbers() -> None:
    versions = ["6.9.1", "6.10.0", "5.14.0-427.el9"]
    assert sorted(versions, key=in_order) == ["5.14.0-427.el9", "6.9.1", "6.10.0"]


def test_the_default_of_systemd_boot() -> None:
    assert loaders.default_of_systemd_boot("timeout 3\ndefault arch-*\n") == "arch-*"
