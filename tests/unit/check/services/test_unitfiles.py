"""Which files of a unit count."""

from pathlib import Path

from cpuplan.check.services.systemd_units import UnitFiles, masked_at_boot, unit_files_of


class Files:
    """A root without links that lead out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, path: str) -> str | None:
        file = self.folder / path
        return file.read_text() if file.is_file() else None

    def names(self, path: str) -> list[str]:
        folder = self.folder / path
        return sorted(child.name for child in folder.iterdir()) if folder.is_dir() else []

    def link(self, path: str) -> str | None:
        file = self.folder / path
        return str(file.readlink()) if file.is_symlink() else None


ETC, RUN, USR = "etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"


def unit_files(root: Path, *paths: str) -> UnitFiles:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"[Unit]\nDescription={path}\n")
    return unit_files_of(Files(root))


def test_stronger_folders_hide_files_of_the_same_name(tmp_path: Path) -> None:
    units = unit_files(
        tmp_path,
        f"{USR}/a.service",
        f"{ETC}/a.service",
        f"{RUN}/a.service",
        f"{USR}/a.service.d/50-x.conf",
        f"{ETC}/a.service.d/50-x.conf",
        f"{RUN}/service.d/10-all.conf",
        f"{ETC}/a.service.d/notes.txt",
    )
    assert units.fragment("a.service") == f"{ETC}/a.service"
    assert units.drop_ins("a.service") == [
        f"{RUN}/service.d/10-all.conf",
        f"{ETC}/a.service.d/50-x.conf",
    ]
    assert [line.value for line in units.lines("a.service")] == [
        f"{ETC}/a.service",
        f"{RUN}/service.d/10-all.conf",
        f"{ETC}/a.service.d/50-x.conf",
    ]


def test_templates_and_prefixes(tmp_path: Path) -> None:
    units = unit_files(
        tmp_path,
        f"{ETC}/update-rps@.service",
        f"{ETC}/update-rps@.service.d/a.conf",
        f"{ETC}/kubepods-.slice.d/b.conf",
        f"{ETC}/kubepods-burstable-.slice.d/c.conf",
    )
    assert units.fragment("update-rps@eth0.service") == f"{ETC}/update-rps@.service"
    assert units.drop_ins("update-rps@eth0.service") == [f"{ETC}/update-rps@.service.d/a.conf"]
    pod = "kubepods-burstable-pod7.slice"
    assert [path[-6:] for path in units.drop_ins(pod)] == ["b.conf", "c.conf"]
    assert [path[-6:] for path in units.drop_ins("kubepods-burstable.slice")] == ["b.conf"]


def test_masks(tmp_path: Path) -> None:
    units = unit_files(tmp_path, f"{ETC}/a.service", f"{ETC}/alias.service")
    (tmp_path / ETC / "stalld.service").symlink_to("/dev/null")
    (tmp_path / ETC / "empty.service").write_text("")
    (tmp_path / ETC / "also.service").symlink_to("a.service")
    units = unit_files_of(Files(tmp_path))
    assert units.mask("stalld.service") == f"{ETC}/stalld.service"
    assert units.mask("empty.service") == f"{ETC}/empty.service"
    assert not any(map(units.mask, ("a.service", "also.service", "none.service")))


def test_who_starts_a_unit(tmp_path: Path) -> None:
    units = unit_files(
        tmp_path, f"{ETC}/multi-user.target.wants/a.service", f"{ETC}/b.target.requires/a.service"
    )
    assert list(units.starters("a.service")) == [
        f"{ETC}/b.target.requires/a.service",
        f"{ETC}/multi-user.target.wants/a.service",
    ]
    assert not list(units.starters("b.service"))


def test_masks_of_the_command_line() -> None:
    line = "ro systemd.mask=tuned.service systemd.mask=irqbalance rd.systemd.mask=x.service"
    assert masked_at_boot(line) == {"tuned.service", "irqbalance.service"}
