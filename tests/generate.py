"""Writes what is made from the code: schemas, pages and expectations of tests.

`python -m tests.generate` writes `schemas/`, references of `docs/`, what is expected of
`tests/cases/`, messages of `tests/rejected/` and plans of `tests/plans/`; then read the difference.
`tests/test_generated.py` says when something is stale.
"""

import tempfile
from pathlib import Path

from tests import named_cases, plan_cases
from tests.pages import (
    defaults,
    diagnostics,
    impact,
    mechanisms,
    platforms,
    reference,
    releases,
)
from tests.projects import REPOSITORY
from tests.rejected_cases import cases, outcome


def generated() -> dict[str, str]:
    """The text of every generated file of the repository, by its path."""
    from cpuplan.base.emit import to_json
    from cpuplan.check import collected
    from cpuplan.language.read.documents import KINDS, schema

    texts = {f"schemas/{kind.lower()}.schema.json": to_json(schema(kind)) for kind in KINDS}
    texts["docs/diagnostics.md"] = diagnostics.page()
    texts["docs/reference.md"] = reference.page({kind: schema(kind) for kind in KINDS})
    texts["docs/defaults.md"] = defaults.page()
    texts["docs/impact.md"] = impact.page()
    texts["docs/platforms.md"] = platforms.page()
    texts[mechanisms.PATH] = mechanisms.page()
    texts[releases.PATH] = releases.page()
    script = "templates/snapshot/cpuplan-snapshot.sh"
    texts[script] = collected.rendered((REPOSITORY / script).read_text())
    return texts


def main() -> None:
    """Write them all."""
    for path, text in generated().items():
        (REPOSITORY / path).write_text(text)
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            _, printed = outcome(case, Path(folder, "project"))
        (case.folder / "expected.txt").write_text(printed)
    named_cases.write()
    with tempfile.TemporaryDirectory() as folder:
        plan_cases.write(Path(folder))


if __name__ == "__main__":
    main()
