"""Numbers and nesting that Python refuses to read, in texts that Go's reader takes."""

from pathlib import Path

import pytest

from tests.projects import make_project, run_in

LONG = "9" * 5000
DEEP = "[" * 3000 + "]" * 3000


@pytest.mark.parametrize("more", [f'"x": {LONG}', f'"x": {DEEP}', '"x": 1e999', '"x": "\\\\ud800"'])
@pytest.mark.parametrize(
    "key",
    ["scheduling.koordinator.sh/resource-spec", "scheduling.koordinator.sh/numa-topology-spec"],
)
def test_annotations_of_pods(
    more: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_project(tmp_path)
    intent = made / "intents/main.yaml"
    text = intent.read_text()
    target = 'version: "1.33"'
    assert target in text
    intent.write_text(text.replace(target, 'version: "1.35"\n    mechanism: koordinator'))
    annotation = f"{{{more}}}"
    (made / "pods.yaml").write_text(
        "kind: Pod\nmetadata:\n  name: a\n  annotations:\n"
        f"    {key}: '{annotation}'\nspec: {{containers: [{{name: c}}]}}\n"
    )
    for words in (["simulate", "worker-0", "pods.yaml"], ["validate", "pods.yaml"]):
        code, _, told = run_in(made, words, capsys)
        assert code in (0, 1, 2), told
