"""Whose files a node has: those of the expected state, or of another plan."""

from collections.abc import Iterator

from cpuplan.check.subject import Subject
from cpuplan.plan.expected import stamp
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.expected.situation import DELIVERED


def stamped(subject: Subject) -> Iterator[Answer]:
    """The stamp is that of the plan. Without one, the files themselves are all that tells."""
    if not subject.expected.platform.takes_files:
        return
    path = stamp.PATH.lstrip("/")
    text = subject.root.read(path)
    if text is None:
        reason = "files of older releases have no stamp, so only the files themselves are compared"
        yield subject.unverifiable(DELIVERED, path, reason)
        return
    found, wanted = stamp.parse(text), stamp.of(subject.expected)
    if found == wanted:
        yield subject.held(DELIVERED, path)
        return
    observed = _words(found) if found else "no stamp that can be read"
    yield subject.differs(DELIVERED, "CP800", path, observed=observed, expected=_words(wanted))


def _words(found: stamp.Stamp) -> str:
    return f"class {found.name} of cluster {found.cluster}, plan {found.digest[:12]}"
