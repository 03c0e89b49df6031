"""Documents: envelope, models, places of fields."""

from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import Documents, from_sources

INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata:
  name: a
spec:
  selector: {}
  targets:
  - {platform: kubernetes, version: "1.33", runtime: crio}
  pools:
    reserved: 3
    shared: "2"
    isolated: rest
"""


def read(text: str) -> tuple[Documents, list[Diagnostic]]:
    sources, problems = yaml.parse("intents/a.yaml", text)
    assert not problems
    return from_sources(sources)


def test_pools_have_short_forms() -> None:
    documents, problems = read(INTENT)
    assert not problems
    pools = documents.by_name["Intent", "a"].spec.pools
    assert str(pools.reserved.cpus) == "3"
    assert str(pools.shared.cpus) == "2"
    assert pools.isolated.rest
    assert pools.offlined is None


def test_an_origin_is_found_again() -> None:
    documents, _ = read(INTENT)
    assert str(documents.locate("Intent/a:spec.pools.shared.cpus")) == "intents/a.yaml:11:13"
    assert str(documents.locate("Intent/a:spec.targets.0.version")) == "intents/a.yaml:8:37"


def test_a_field_that_is_left_out_is_found_at_its_parent() -> None:
    documents, _ = read(INTENT)
    assert (
        str(documents.locate("Intent/a:spec.kubelet.topologyManagerPolicy")) == "intents/a.yaml:5:1"
    )


def test_rules_and_unknown_documents_have_no_place() -> None:
    documents, _ = read(INTENT)
    assert documents.locate("rule whole-cores") is None
    assert documents.locate("Intent/b:spec.pools") is None


def test_all_mistakes_are_reported_in_one_run() -> None:
    wrong = INTENT.replace("reserved: 3", "reserved: {cores: x, per: core}").replace(
        "name: a", "name: A b"
    )
    _, problems = read(wrong.replace("isolated: rest", "isolatd: rest"))
    assert sorted(problem.code for problem in problems) == ["CP201", "CP203", "CP203", "CP207"]


def test_a_broken_document_excuses_what_refers_to_it() -> None:
    documents, problems = read(INTENT.replace("kind: Intent", "kind: Hardware"))
    assert problems
    assert documents.may_define("Hardware", "a")
    assert not documents.may_define("Hardware", "b")
    assert not documents.may_define("Intent")
