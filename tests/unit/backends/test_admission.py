"""The emitted policies, run on pods: who is admitted, refused in which words, and what is added."""

import json
from typing import Any

import pytest

from cpuplan.backends import admission
from cpuplan.components.admission_rules import ALLOWED, RESOURCE
from cpuplan.language.model.cluster import ClusterSpec
from tests.api_server import Answer, Request, admit
from tests.machines.plans import plan
from tests.projects import SHARED, needs_shared

HOOK, QUOTA = "cpu-shared.crio.io", "cpu-quota.crio.io"
OPEN: dict[str, str] = {ALLOWED: ""}


def objects(
    version: str = "1.36", platform: str = "kubernetes", **runtime: Any
) -> list[dict[str, Any]]:
    """What is written for a cluster of one class with shared CPUs."""
    configured = plan(shared="2-3", platform=platform, version=version, spec={"runtime": runtime})
    return [manifest.data for manifest in admission.manifests([configured])]


def kinds(written: list[dict[str, Any]]) -> list[str]:
    return [
        f"{policy['apiVersion'].rpartition('/')[2]} {policy['kind']} {policy['metadata']['name']}"
        for policy in written
    ]


POLICY = "ValidatingAdmissionPolicy"
BOTH = [
    f"v1 {POLICY}{end} cpuplan-mixed-cpus{name}"
    for name in ("", "-bindings", "-hints")
    for end in ("", "Binding")
]
#: With the subresource pods/resize.
ALL = [*BOTH, *(f"v1 {POLICY}{end} cpuplan-mixed-cpus-resizes" for end in ("", "Binding"))]


@pytest.mark.parametrize(
    ("platform", "version", "runtime", "expected"),
    [
        ("kubernetes", "1.28", {}, []),  # CRI-O 1.28 has no shared CPUs: CP531
        ("kubernetes", "1.29", {}, []),
        ("kubernetes", "1.31", {}, BOTH),
        ("kubernetes", "1.32", {}, [*ALL, "v1alpha1"]),
        ("kubernetes", "1.34", {}, [*ALL, "v1beta1"]),
        ("kubernetes", "1.36", {}, [*ALL, "v1"]),
        ("kubernetes", "1.36", {"annotatePods": False}, ALL),
        ("kubernetes", "1.36", {"mixedCpus": False}, []),
        ("openshift", "4.16", {}, []),
        ("openshift", "4.17", {}, BOTH),
        ("openshift", "4.19", {}, ALL),
        (
            "openshift",
            "5.1",
            {"sharedNamespaces": ["vran", "amf"]},
            [*ALL, "v1 Namespace amf", "v1 Namespace vran"],
        ),
    ],
)
def test_what_a_release_gets(
    platform: str, version: str, runtime: dict[str, Any], expected: list[str]
) -> None:
    mutating = [f"{{}} MutatingAdmissionPolicy{end} cpuplan-mixed-cpus" for end in ("", "Binding")]
    wanted = []
    for answer in expected:
        patterns = [] if " " in answer else mutating
        wanted += [pattern.format(answer) for pattern in patterns] or [answer]
    assert kinds(objects(version, platform, **runtime)) == wanted


@pytest.mark.parametrize(
    ("releases", "api", "refuses_pod_resources", "warns_of_quota"),
    [
        (("1.33", "1.36"), "v1", True, False),
        (("1.34", "1.32"), "v1beta1", True, True),
        (("1.31", "1.33"), "v1alpha1", True, True),
        (("1.29", "1.30"), None, False, True),
    ],
)
def test_the_newest_node_tells_the_api_and_the_oldest_the_kubelet(
    releases: tuple[str, str], api: str | None, refuses_pod_resources: bool, warns_of_quota: bool
) -> None:
    plans = [plan(shared="2-3", platform="kubernetes", version=release) for release in releases]
    written = [manifest.data for manifest in admission.manifests(plans)]
    mutating = [
        policy["apiVersion"] for policy in written if policy["kind"] == "MutatingAdmissionPolicy"
    ]
    assert mutating == ([f"admissionregistration.k8s.io/{api}"] if api else [])
    refusing, _, warning, *_ = [policy["spec"] for policy in written if policy["kind"] == POLICY]
    assert (
        any(variable["name"] == "ofPod" for variable in refusing["variables"])
        is refuses_pod_resources
    )
    assert (
        any(variable["name"] == "throttled" for variable in warning["variables"]) is warns_of_quota
    )


def test_namespaces_of_all_intents() -> None:
    rows: list[dict[str, Any]] = [
        {"runtime": {"sharedNamespaces": ["a", "b"]}},
        {"runtime": {"sharedNamespaces": ["b"]}},
    ]
    plans = [plan(shared="2-3", spec=row) for row in rows]
    written = [manifest.data for manifest in admission.manifests(plans)]
    namespaces = [policy for policy in written if policy["kind"] == "Namespace"]
    assert [namespace["metadata"]["name"] for namespace in namespaces] == ["a", "b"]
    assert namespaces[0]["metadata"]["annotations"][ALLOWED] == ""
    assert (
        "Delete=confirm"
        in namespaces[0]["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    )


def container(
    name: str = "app", cpu: str = "2", shared: str | None = "1", **fields: Any
) -> dict[str, Any]:
    """A container with equal requests and limits."""
    amounts = {"cpu": cpu, "memory": "1Gi"} | ({RESOURCE: shared} if shared is not None else {})
    return {
        "name": name,
        "resources": {"requests": dict(amounts), "limits": dict(amounts)},
        **fields,
    }


def pod(
    *containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    named = {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}
    if annotations is not None:
        named["metadata"]["annotations"] = annotations
    return named


def ask(made: dict[str, Any], allowed: dict[str, str] | None = None, **release: Any) -> Answer:
    namespace: dict[str, Any] = {"metadata": {"name": "team"}}
    if allowed is None or allowed:
        namespace["metadata"]["annotations"] = OPEN if allowed is None else allowed
    return admit(objects(**release), Request(made, namespace))


PLAIN = {"name": "plain"}
#: What is refused, and words of the refusal.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("two", pod(container(shared="2")), "container app asks for more or less than a single"),
    (
        "none at all",
        pod(container(shared="0")),
        "container app asks for more or less than a single",
    ),
    (
        "the second of two",
        pod(container("a"), container("b", shared="1k")),
        "container b asks for more or less",
    ),
    (
        "a best-effort neighbour",
        pod(container(), PLAIN),
        "not of QoS class Guaranteed: container plain needs",
    ),
    (
        "no limit of memory",
        pod({"name": "app", "resources": {"limits": {"cpu": "2", RESOURCE: "1"}}}),
        "container app",
    ),
    (
        "less asked for than allowed",
        pod(
            {
                "name": "app",
                "resources": {
                    "requests": {"cpu": "2", "memory": "1Gi", RESOURCE: "1"},
                    "limits": {"cpu": "4", "memory": "1Gi", RESOURCE: "1"},
                },
            }
        ),
        "not of QoS class Guaranteed: container app needs",
    ),
    ("limits of 0", pod(container(cpu="0")), "not of QoS class Guaranteed: container app needs"),
    (
        "an init container",
        pod(container(), initContainers=[PLAIN]),
        "not of QoS class Guaranteed: container plain",
    ),
    ("a fraction", pod(container(cpu="1500m")), "container app asks for"),
    (
        "the annotation alone",
        pod(PLAIN, annotations={f"{HOOK}/plain": "enable"}),
        f"annotation {HOOK}/plain is for no",
    ),
    (
        "a look-alike",
        pod(container(), annotations={f"{HOOK}er": "x"}),
        f"annotation {HOOK}er is for no container",
    ),
    (
        "the variable",
        pod({"name": "sly", "env": [{"name": "OPENSHIFT_SHARED_CPUS", "value": "0-1"}]}),
        "container sly sets the variable OPENSHIFT_SHARED_CPUS",
    ),
    (
        "resources of the pod",
        pod(container(), resources={"limits": {"cpu": "2", "memory": "1Gi"}}),
        (
            "container app asks for workload.openshift.io/enable-shared-cpus "
            "in a pod with spec.resources"
        ),
    ),
]


@pytest.mark.parametrize(
    ("made", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(made: dict[str, Any], words: str) -> None:
    refusals = ask(made).refusals
    assert len(refusals) == 1
    assert words in refusals[0]


@pytest.mark.parametrize("annotations", [{}, {"workload.mixedcpus.openshift.io/allow": "true"}])
def test_namespace_must_be_allowed(annotations: dict[str, str]) -> None:
    assert ask(pod(container()), annotations).refusals == [
        f"namespace team is not allowed for {RESOURCE}: annotate it with {ALLOWED}"
    ]
    assert not ask(pod(PLAIN), annotations).refusals


#: What is admitted, and the annotations that are added; None where the policies are not concerned.
ADMITTED: list[tuple[dict[str, Any], dict[str, str] | None]] = [
    (pod(container()), {f"{HOOK}/app": "enable"}),
    (pod(container(), container("other", shared=None)), {f"{HOOK}/app": "enable"}),
    (
        pod(container("a"), container("b"), annotations={"k": "v"}),
        {f"{HOOK}/a": "enable", f"{HOOK}/b": "enable"},
    ),
    (pod(container(), annotations={f"{HOOK}/app": "disable"}), {f"{HOOK}/app": "enable"}),
    (pod(container(), annotations={QUOTA: "true"}), {f"{HOOK}/app": "enable", QUOTA: "true"}),
    (
        pod(container(), initContainers=[container("first")]),
        {f"{HOOK}/app": "enable", f"{HOOK}/first": "enable"},
    ),
    (pod(container(shared="1000m", cpu="2000m")), {f"{HOOK}/app": "enable"}),
    (pod(PLAIN), None),
]


@pytest.mark.parametrize(("made", "added"), ADMITTED)
def test_admitted(made: dict[str, Any], added: dict[str, str] | None) -> None:
    answer = ask(made)
    assert not answer.refusals
    before = made["metadata"].get("annotations", {})
    without_quota = {QUOTA: "disable"} | before
    expected = None if added is None else without_quota | added
    assert answer.pod["metadata"].get("annotations") == expected
    assert answer.pod["spec"]["containers"][0]["name"] == made["spec"]["containers"][0]["name"]


def test_pods_bring_the_annotation_where_nobody_adds_it() -> None:
    refused = ask(pod(container()), annotatePods=False).refusals
    assert refused == [
        (
            "CRI-O needs an annotation for each container that shares CPUs: "
            "annotate the pod with cpu-shared.crio.io/app = enable"
        )
    ]
    assert not ask(
        pod(container(), annotations={f"{HOOK}/app": "enable"}), annotatePods=False
    ).refusals


def test_pods_may_have_resources_where_the_field_is_unknown() -> None:
    made = pod(
        container(), annotations={f"{HOOK}/app": "enable"}, resources={"limits": {"cpu": "2"}}
    )
    assert not ask(made, version="1.31").refusals


@pytest.mark.parametrize(
    ("version", "made", "expected"),
    [
        ("1.36", pod(container(), runtimeClassName="performance-ran"), []),
        (
            "1.36",
            pod(container()),
            ["container app gets no shared CPUs without a runtimeClassName of performance-ran"],
        ),
        (
            "1.36",
            pod(container(), runtimeClassName="gvisor"),
            ["container app gets no shared CPUs without a"],
        ),
        # Here the policy adds the annotation, and the pod can say otherwise.
        ("1.32", pod(container(), runtimeClassName="performance-ran"), []),
        (
            "1.32",
            pod(container(), runtimeClassName="performance-ran", annotations={QUOTA: "enable"}),
            ["container app is throttled to its exclusive"],
        ),
        (
            "1.31",
            pod(
                container(),
                runtimeClassName="performance-ran",
                annotations={f"{HOOK}/app": "enable"},
            ),
            ["container app is throttled to its exclusive"],
        ),
        (
            "1.31",
            pod(
                container(),
                runtimeClassName="performance-ran",
                annotations={f"{HOOK}/app": "enable", QUOTA: "disable"},
            ),
            [],
        ),
        ("1.32", pod(PLAIN), []),
    ],
)
def test_warnings(version: str, made: dict[str, Any], expected: list[str]) -> None:
    answer = ask(made, version=version)
    assert not answer.refusals
    assert len(answer.warnings) == len(expected)
    for said, words in zip(answer.warnings, expected, strict=True):
        assert words in said


@pytest.mark.parametrize(
    ("version", "configuration", "facts", "is_warned"),
    [
        ("1.32", {}, {}, True),
        ("1.32", {}, {"cgroupMode": "v1"}, False),
        ("1.32", {"cpuCFSQuota": False}, {}, False),
        ("1.33", {}, {}, False),
        ("1.33", {"featureGates": {"DisableCPUQuotaWithExclusiveCPUs": False}}, {}, True),
    ],
)
def test_throttling_is_warned_of_where_it_happens(
    version: str, configuration: dict[str, Any], facts: dict[str, str], is_warned: bool
) -> None:
    spec = {"kubelet": {"configuration": configuration}}
    configured = plan(shared="2-3", platform="kubernetes", version=version, spec=spec)
    configured.node_class.cluster_facts = ClusterSpec.model_validate(facts)
    made = {manifest.file: manifest.data for manifest in admission.manifests([configured])}
    hints = made["20-validatingadmissionpolicy-cpuplan-mixed-cpus-hints.yaml"]["spec"]
    assert ("throttled" in {variable["name"] for variable in hints["variables"]}) == is_warned


@pytest.mark.parametrize(
    ("before", "after", "is_refused"),
    [
        # Of a time before the policy: it must still be possible to take a finalizer or to label the
        # pod.
        (pod(container(shared="2")), pod(container(shared="2")), False),
        (
            pod(PLAIN, annotations={f"{HOOK}/plain": "x"}),
            pod(PLAIN, annotations={f"{HOOK}/plain": "x"}),
            False,
        ),
        (pod(PLAIN), pod(PLAIN, annotations={f"{HOOK}/plain": "enable"}), True),
        (
            pod(PLAIN, annotations={"k": "v"}),
            pod(PLAIN, annotations={f"{HOOK}/plain": "enable"}),
            True,
        ),
        (
            pod(PLAIN, annotations={f"{HOOK}/plain": "x"}),
            pod(PLAIN, annotations={f"{HOOK}/plain": "enable"}),
            True,
        ),
        (pod(PLAIN), pod(PLAIN, annotations={"k": "v"}), False),
        # Whoever takes the annotation away has a pod that asks for what it does not get.
        (
            pod(container(shared="1"), annotations={f"{HOOK}/app": "enable"}),
            pod(container(shared="1")),
            True,
        ),
        (pod(PLAIN, annotations={f"{HOOK}/plain": "enable"}), pod(PLAIN), False),
    ],
)
@pytest.mark.parametrize("resource", ["pods", "pods/status"])
def test_later_annotations(
    before: dict[str, Any], after: dict[str, Any], is_refused: bool, resource: str
) -> None:
    namespace = {"metadata": {"name": "team", "annotations": OPEN}}
    answer = admit(objects(), Request(after, namespace, "UPDATE", before, resource))
    assert bool(answer.refusals) == is_refused


@pytest.mark.parametrize("resource", ["pods/binding", "bindings"])
@pytest.mark.parametrize(("key", "is_refused"), [(f"{HOOK}/app", True), ("other", False)])
def test_bindings(resource: str, key: str, is_refused: bool) -> None:
    """The API server copies annotations of a binding to the pod."""
    target = {"kind": "Node", "name": "worker-0"}
    binding = {"metadata": {"name": "p", "annotations": {key: "enable"}}, "target": target}
    namespace = {"metadata": {"name": "team", "annotations": OPEN}}
    answer = admit(objects(), Request(binding, namespace, resource=resource))
    assert bool(answer.refusals) == is_refused


@pytest.mark.parametrize(("made", "is_refused"), [(pod(container()), True), (pod(PLAIN), False)])
def test_resizes_in_place(made: dict[str, Any], is_refused: bool) -> None:
    namespace = {"metadata": {"name": "team", "annotations": OPEN}}
    answer = admit(objects(), Request(made, namespace, "UPDATE", made, "pods/resize"))
    assert [text.partition(":")[0] for text in answer.refusals] == [
        "a container with shared CPUs cannot be resized in place"
    ] * is_refused


@pytest.mark.parametrize(
    ("stated", "api"),
    [(None, "v1alpha1"), ("1.35", "v1beta1"), ("1.36", "v1"), ("1.28", "v1alpha1")],
)
def test_the_control_plane_tells_the_api(stated: str | None, api: str) -> None:
    """Policies follow the API server, which may be newer than all nodes, and never is older."""
    configured = plan(shared="2-3", platform="kubernetes", version="1.33")
    configured.node_class.cluster_facts = ClusterSpec(version=stated)
    written = [manifest.data for manifest in admission.manifests([configured])]
    assert f"{api} MutatingAdmissionPolicy cpuplan-mixed-cpus" in kinds(written)


def test_a_newer_neighbour_tells_the_api() -> None:
    """Of a cluster's targets, the newest counts, also one without shared CPUs."""
    plans = [
        plan(shared="2-3", platform="kubernetes", version="1.33"),
        plan(platform="kubernetes", version="1.36"),
    ]
    written = [manifest.data for manifest in admission.manifests(plans)]
    assert "v1 MutatingAdmissionPolicy cpuplan-mixed-cpus" in kinds(written)


#: Words of the refusals that OpenShift's plugin has too; the others are for what it lets through.
LIKE_THE_PLUGIN = (
    "is not allowed for",
    "more or less than a single",
    "not of QoS class Guaranteed",
)
STRICTER = ("fraction of a CPU", "is for no container", "CRI-O needs an annotation")


def recorded() -> list[dict[str, Any]]:
    lines = (SHARED / "vectors" / "crio" / "admission.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "mixedcpus"]


@needs_shared
def test_like_the_plugin_and_stricter() -> None:
    """All that OpenShift's plugin refused is refused; what both admit gets the same annotations.

    Stricter only where the facts say that a pod gets nothing of what it asks for, or takes it
    without asking.
    """
    written = objects()
    for row in recorded():
        given, out = row["in"], row["out"]
        if given.get("namespace"):
            continue  # the pod's namespace does not exist: the API server refuses it by itself
        namespace = {"metadata": {"name": "team", "annotations": given["ns_annotations"]}}
        request = Request(
            given["pod"],
            namespace,
            given.get("operation", "CREATE"),
            given["pod"],
            given.get("resource", "pods"),
        )
        answer = admit(written, request)
        if not out["admitted"]:
            assert any(words in said for said in answer.refusals for words in LIKE_THE_PLUGIN), row[
                "id"
            ]
        elif answer.refusals:
            silent = (
                row["id"].startswith("adm-init")
                or out["qos_after"] != "Guaranteed"
                or "zero" in row["note"]
            )
            assert silent or any(words in said for said in answer.refusals for words in STRICTER), (
                row["id"]
            )
        elif out["mutated"]:
            own = {QUOTA: "disable"} | out["pod"]["annotations"]
            assert answer.pod["metadata"]["annotations"] == own, row["id"]


@pytest.mark.parametrize(("version", "refuses"), [("1.31", False), ("1.32", True)])
def test_pod_resources_are_known_since(version: str, refuses: bool) -> None:
    refusing = next(policy["spec"] for policy in objects(version) if policy["kind"] == POLICY)
    assert any(variable["name"] == "ofPod" for variable in refusing["variables"]) is refuses
