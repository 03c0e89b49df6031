"""A pod that the API server refuses is refused at its line, whatever it is asked about."""

from pathlib import Path

import pytest

from tests.projects import make_project, plain_environment, run_in

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
  {field}
spec: {{containers: [{{name: c}}]}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: a}}
spec:
  template:
    metadata:
      {field}
    spec: {{containers: [{{name: c}}]}}
"""
FIELDS = (
    "labels: x",
    "labels: [a]",
    "labels: {a: {b: c}}",
    "labels: {a: 1}",
    "labels: {a: null}",
    'labels: {a: "b\\n"}',
    'labels: {a: "\\e[31m"}',
    """labels: {a: '"b"'}""",
    'labels: {"a b": c}',
    'labels: {"A.B/c": d}',
    f"labels: {{a: {'b' * 64}}}",
    "annotations: x",
    "annotations: {a: {b: c}}",
    'annotations: {"a b": c}',
    "namespace: {a: b}",
    "namespace: A",
    'namespace: "a.b"',
    "generateName: [a]",
    "finalizers: a",
)
#: The ways to ask; the files of `states` below are not read before the pods.
MODES = (
    (),
    ("--format", "json"),
    ("--each",),
    ("--any-order",),
    ("--policy", "dynamic"),
    ("--scheduler", "koordinator"),
    ("--scheduler", "topology-aware"),
    ("--scheduler", "both"),
    ("--with", "all"),
    ("--with", "all", "--adapt"),
    ("--with", "static,koordinator"),
)
MECHANISMS = ("kubelet", "balloons", "topology-aware", "dra", "koordinator")


def project(folder: Path, mechanism: str = "kubelet") -> Path:
    made = make_project(folder / mechanism)
    intent = made / "intents/main.yaml"
    target = 'platform: kubernetes\n    version: "1.33"'
    text = intent.read_text()
    assert target in text
    text = text.replace(
        target, f'platform: kubernetes\n    version: "1.36"\n    mechanism: {mechanism}'
    )
    intent.write_text(text)
    return made


@pytest.mark.parametrize("form", [POD, DEPLOYMENT])
@pytest.mark.parametrize("field", FIELDS)
def test_it_is_refused_at_its_line(
    form: str,
    field: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain_environment(monkeypatch)
    made = project(tmp_path)
    text = form.format(field=field)
    (made / "pods.yaml").write_text(text)
    line = 1 + text[: text.index(field)].count("\n")
    code, out, told = run_in(made, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert (code, out) == (1, ""), told
    assert f"--> pods.yaml:{line}:" in told
    assert "error[CP720]" in told


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_refuses_it(
    mode: tuple[str, ...], mechanism: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = project(tmp_path, mechanism)
    for field in ("labels: x", "labels: {a: {b: c}}", 'labels: {a: "b c"}', "annotations: [a]"):
        (made / "pods.yaml").write_text(POD.format(field=field))
        code, out, told = run_in(made, ["simulate", "worker-0", "pods.yaml", *mode], capsys)
        assert code == 1, (mode, told)
        assert "CP720" in out + told, (mode, told)


@pytest.mark.parametrize(
    "spec", ["nodeName: [a]", "priorityClassName: {a: b}", "runtimeClassName: 1", "priority: x"]
)
def test_fields_of_the_pod_have_their_types(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = project(tmp_path)
    (made / "pods.yaml").write_text(
        f"kind: Pod\nmetadata: {{name: a}}\nspec:\n  containers: [{{name: c}}]\n  {spec}\n"
    )
    code, _, told = run_in(made, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert code == 1, told
    assert "pods.yaml:5:" in told
