"""`cpuplan init`: a first project to edit."""

from pathlib import Path

import click

from cpuplan.cli.output import note, print_diagnostics, settings
from cpuplan.diagnostics import diagnose
from cpuplan.resources import resource

#: Template -> file of the new project.
FILES = {
    "init/inventory.yaml": "inventories/example.yaml",
    "init/intent.yaml": "intents/example.yaml",
}


@click.command()
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path | None) -> int:
    """Begin a project in FOLDER (here, if left out): a first inventory and intent, and the schemas for your editor."""
    from cpuplan.write.files import write_file

    root = folder or settings().root
    texts = {target: resource("templates", source).read_text() for source, target in FILES.items()}
    for schema in sorted(resource("schemas").glob("*.json")):
        texts[f"schemas/{schema.name}"] = schema.read_text()
    blocked = [
        diagnose("CP621", path=root / target, hint="choose another folder, or move the file away")
        for target, text in texts.items()
        if (root / target).exists() and (root / target).read_text() != text
    ]
    if blocked:
        print_diagnostics(blocked)
        return 2
    for target, text in texts.items():
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        write_file(root / target, text)
        if target in FILES.values():
            note(f"wrote {root / target}")
    where = "" if root == Path() else f" -C {root}"
    note(f"next: edit them, then `cpuplan{where} compile` and `cpuplan{where} show worker-0`")
    return 0
