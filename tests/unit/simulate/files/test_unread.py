"""What a file was perhaps meant to be of which nobody reads anything."""

import pytest

from cpuplan.language.read import yaml
from cpuplan.simulate.files.unread import of_template, reason


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("", "it has no document", "give documents of cpuplan"),
        ("kind: Thing\n", "it is a Thing", "give documents of cpuplan"),
        ("kind: kubeletConfiguration\n", "it is a kubelet", "did you mean 'KubeletConfiguration'?"),
        ("kind: CronJob\n", "it is a CronJob", "`cpuplan simulate` reads pods"),
        ("maxPods: 9\n", "it has no kind", "for the kubelet, write `apiVersion: kubelet.config"),
        ("kubelet_arg: [a]\n", "it has no kind", "did you mean 'kubelet-arg'?"),
        ("hello: world\n", "it has no kind", "give documents of cpuplan"),
    ],
)
def test_the_reason(text: str, what: str, hint: str) -> None:
    given = reason(yaml.parse("a.yaml", text)[0])
    assert given.what.startswith(what)
    assert given.hint.startswith(hint)


def test_templates_are_filled_in_by_their_program() -> None:
    assert "helm template" in of_template("a.yaml").hint
    assert "--containerd" in of_template("config.toml.tmpl").hint
