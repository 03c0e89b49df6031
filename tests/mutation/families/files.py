"""Compiled files: a line changed, a line removed, no file, and no permission to run it."""

from collections.abc import Iterator

from tests.mutation.image import File, Mode
from tests.mutation.mutation import Case, Mutation, named
from tests.mutations import other_text

#: A change of a file may be told by what its program makes of it.
_PROGRAMS = {
    "crio": "crio|CRI-O",
    "containerd": "containerd",
    "kubelet.conf.d": "kubelet",
    "kubelet.service.d": "kubelet",
    "sysctl.d": "sysctl",
    "tuned": "[Tt]une[Dd]",
    "irqbalance": "irqbalance",
}


def mutations(case: Case) -> Iterator[Mutation]:
    """Of each file of the plan that the node has."""
    for path, file in case.expected.files.items():
        place = path.lstrip("/")
        text = case.image.text(place)
        if text is None:
            continue
        programs = [words for part, words in _PROGRAMS.items() if f"/{part}" in path]
        about = "|".join([named(path.rpartition("/")[2], path), *programs])
        mode = 0o755 if file.is_executable else 0o644
        for what, changed in _changed(text):
            content = {place: File(changed, mode)}
            yield Mutation("files", f"{path}: {what}", content, about)
        yield Mutation("files", f"{path}: removed", {place: None}, about)
        if file.is_executable:
            yield Mutation("files", f"{path}: not executable", {place: Mode(0o644)}, about)


def _changed(text: str) -> Iterator[tuple[str, str]]:
    """The last line that says something, changed and removed.

    An empty text of the kubelet says no more than a line that is not there.
    """
    lines = text.splitlines()
    said = [
        number
        for number, line in enumerate(lines)
        if line.strip() and line[0] not in "#;[" and not line.endswith(': ""')
    ]
    if said:
        last = said[-1]
        before, after = lines[:last], lines[last + 1 :]
        yield "line changed", "\n".join([*before, other_text(lines[last]), *after, ""])
        yield "line removed", "\n".join([*before, *after, ""])
