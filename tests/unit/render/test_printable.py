"""Whatever others wrote: what is printed steers no terminal, and pictures are XML."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.base.text import printable, printable_lines
from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import hardware
from cpuplan.language.model.inventory import Device, HardwareSpec
from cpuplan.plan import NodePlan, Pool
from cpuplan.render import diagnostics
from cpuplan.render.diagnostics import FORMATS
from cpuplan.render.diagnostics import text as text_format
from cpuplan.render.diagnostics.report import Report, ordered
from cpuplan.render.map.drawing import hardware_map
from cpuplan.render.map.plan import plan_map
from cpuplan.render.map.svg import draw_svg
from cpuplan.render.map.terminal import draw_text
from cpuplan.render.text import STYLES, on_terminal, paint, table
from tests.projects import REPOSITORY, make_project, plain_environment, run_in
from tests.unit.render.plans import make_plan, regular

#: What must never arrive raw: C0 and C1 controls, turns of direction, invisible marks, halves of
#: characters.
RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
NASTY = "\x1b[31mred\x1b]0;title\x07 a\u202eb \x9b2J \udc80 \x00 \x7f \ufffe <&\"'> ]]>\n\t\u2028"
texts = st.one_of(st.text(), st.text(st.characters()), st.just(NASTY))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Xeon Gold 6338N", "Xeon Gold 6338N"),
        ("Érable 日本語 №1 \ufffd", "Érable 日本語 №1 \ufffd"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("\udc80", "\\udc80"),
        ("one\ntwo\tthree\0", "one\\ntwo\\tthree\\0"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_nothing_raw_is_left(text: str) -> None:
    assert not RAW.search(printable(text))
    assert "\n" not in printable(text)
    assert not RAW.search(printable_lines(text).replace("\t", ""))
    ElementTree.fromstring(f"<a>{printable(text).replace('&', '').replace('<', '')}</a>")  # noqa: S314


@given(texts, texts, texts, texts)
@example("00000000\x1f", NASTY, NASTY, "0000, 0")
def test_machines_are_drawn_as_text_and_xml(
    name: str, model: str, vendor: str, driver: str
) -> None:
    device = Device.model_construct(
        address="0000:31:00.0",
        numa_node=0,
        device_class="network",
        driver=driver,
        name=name,
        vendor=vendor,
    )
    facts = HardwareSpec.model_validate(
        {
            "architecture": "x86_64",
            "regular": {
                "sockets": 1,
                "coresPerSocket": 4,
                "threadsPerCore": 2,
                "memoryPerNumaNode": "16Gi",
            },
        }
    )
    spec = facts.model_copy(update={"model": model, "vendor": vendor, "devices": (device,)})
    topology, _ = hardware.build(spec)
    assert topology
    drawn = hardware_map(name, spec, topology)
    ElementTree.fromstring(draw_svg(drawn))  # noqa: S314 - made here
    assert not RAW.search(draw_svg(drawn))
    plain = draw_text(drawn, colour=False)
    assert not RAW.search(plain)
    assert uncoloured(draw_text(drawn, colour=True)) == plain
    assert len({len(line) for line in plain.splitlines() if line.startswith(tuple("╔║╚┌│└"))}) == 1


@given(texts)
def test_plans_are_drawn_as_text_and_xml(text: str) -> None:
    plan = make_plan(regular(1, 4, 2), {"reserved": "0,4", "isolated": "1-3,5-7"})
    odd = Pool(f"A: {text}", CpuSet.parse("1-2"), ())
    owned = NodePlan(plan.node_class, (odd, *plan.pools))
    drawn = plan_map(owned, text)
    ElementTree.fromstring(draw_svg(drawn))  # noqa: S314 - made here
    assert not RAW.search(draw_text(drawn, colour=False))
    assert uncoloured(draw_text(drawn, colour=True)) == draw_text(drawn, colour=False)


@given(texts, texts)
def test_diagnostics_are_printable_in_every_format(text: str, path: str) -> None:
    place = Position(path, 1, 1, 3)
    problems = [
        Diagnostic(
            "CP102", text, text, place, text, (Label(place, text), Label(Position("b", 1, 1), text))
        )
    ]
    report = Report(ordered(problems))
    plain = text_format.render(report, read_lines=lambda _: [text])
    assert not RAW.search(on_terminal(plain, colour=False))
    coloured = on_terminal(
        text_format.render(report, colour=True, read_lines=lambda _: [text]), colour=True
    )
    assert not RAW.search(uncoloured(coloured))
    for name in FORMATS:
        made = diagnostics.render(name, report)
        assert not RAW.search(made)
        if name in ("json", "sarif", "gitlab"):
            assert not any(map(RAW.search, strings(json.loads(made))))
    ElementTree.fromstring(diagnostics.render("junit", report))  # noqa: S314 - made here


@given(texts, texts)
def test_tables_have_a_line_for_each_row(first: str, second: str) -> None:
    text = table([("NAME", "MODEL"), (first, second), (second, first)])
    assert text.count("\n") == 3
    assert not RAW.search(text)


@given(st.text())
def test_emitted_files_hold_escapes(text: str) -> None:
    assert not RAW.search(to_yaml({"a": text, "b": [text]}, header=text).replace("\t", ""))
    assert json.loads(to_json({"a": text})) == {"a": text}
    assert to_json({"a": text}).replace("\n", "").isprintable()


def test_nothing_but_our_own_colours_passes() -> None:
    mine = paint("x", "error", colour=True)
    assert on_terminal(mine + "\x1b[31;5my\x1b[2J", colour=True) == mine + "\\x1b[31;5my\\x1b[2J"
    assert on_terminal(mine, colour=False) == "\\x1b[1;31mx\\x1b[0m"
    assert paint("\x1b[0m", "error", colour=True) == f"\x1b[{STYLES['error']}m\\x1b[0m\x1b[0m"


def test_commands_print_through_one_door() -> None:
    """No `click.echo`, `click.secho` or `print` but in `cli.output`."""
    for path in sorted((REPOSITORY / "cpuplan").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and path.name != "output.py":
                assert ast.unparse(node.func) not in ("click.echo", "click.secho", "print"), (
                    f"{path}:{node.lineno}"
                )


def test_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine's escapes reach neither the terminal, nor pictures, nor `out/`."""
    plain_environment(monkeypatch)
    project = make_project(tmp_path / "project")
    file = next(
        path for path in (project / "inventories").iterdir() if "GenuineIntel" in path.read_text()
    )
    model = r'"\x1b]0;x\x07Xeon \u202e<&> \x9b2J"'
    file.write_text(
        file.read_text().replace("vendor: GenuineIntel", f"vendor: {model}\n  model: {model}")
    )
    odd = project / "inventories/\x1b[31m.yaml"
    for arguments in (
        ["validate"],
        ["compile"],
        ["show"],
        ["show", "worker-0"],
        ["show", "Hardware/small"],
        ["show", "Hardware/small", "--svg", "small.svg"],
        ["show", "worker-0", "--svg", "node.svg"],
        ["--color", "always", "show", "Hardware/small"],
        ["explain", "worker-0"],
        ["show", "\x1b[31mred"],
        ["validate", "\x1b[31mred"],
        ["\x1b[31mred"],
        ["simulate", "worker-0", "\x1b[31mred"],
        ["import", "\x1b[31mred", "\udc80"],
    ):
        _, out, err = run_in(project, arguments, capsys)
        assert not RAW.search(uncoloured(out)), arguments
        assert not RAW.search(err), arguments
    odd.write_text("apiVersion: [\x1b")
    (project / "intents/\udc80.yaml").write_text("kind: \u202e\n")
    for output_format in FORMATS:
        code, out, err = run_in(project, ["validate", "--format", output_format], capsys)
        assert code in (1, 2), err
        assert not RAW.search(out + err)
        code, _, err = run_in(
            project, ["validate", "--format", output_format, "-o", "report"], capsys
        )
        assert code in (1, 2), err
        report = (project / "report").read_text()
        assert not RAW.search(report), output_format
        if output_format == "junit":
            ElementTree.fromstring(report)  # noqa: S314 - made here
        elif output_format in ("json", "sarif", "gitlab"):
            json.loads(report)
    for path in sorted([*(project / "out").rglob("*"), *project.glob("*.svg")]):
        if path.is_file():
            assert not RAW.search(path.read_text().replace("\t", "")), path
    for path in project.glob("*.svg"):
        ElementTree.fromstring(path.read_text())  # noqa: S314 - made here


def uncoloured(text: str) -> str:
    """Without the styles that cpuplan has, which are all that may be there."""
    codes = "|".join(["0", *STYLES.values()])
    plain = re.sub(f"\x1b\\[(?:{codes})m", "", text)
    return re.sub(" +$", "", plain, flags=re.MULTILINE)  # a styled blank ends no line


def strings(data: object) -> Iterator[str]:
    """All texts in JSON data."""
    todo = [data]
    for value in todo:
        if isinstance(value, dict):
            todo += [*value, *value.values()]
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, str):
            yield value.replace("\n", "")
