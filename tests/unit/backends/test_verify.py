"""The objects that verify nodes: only what is asked for, with no right that is not needed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends.base import VERIFY_CLUSTER_KINDS, VERIFY_KINDS
from cpuplan.backends.verify import access, cluster_manifests, job
from cpuplan.check.cluster.live_objects import KINDS as KINDS_OF_A_CLUSTER
from cpuplan.fleet.class_names import agent_name
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.node import view
from cpuplan.node.view import Checked, State
from cpuplan.node.view import Plan as Known
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.render.answers.prometheus import Counts
from cpuplan.write import emitted
from tests import node_places as places
from tests.machines.plans import plan, regular
from tests.node_places import By
from tests.projects import REPOSITORY
from tests.promtool import needs_promtool, promtool

IMAGE = "registry.example.com/cpuplan:1.0"
ALL: dict[str, Any] = {
    "image": IMAGE,
    "condition": True,
    "events": True,
    "prometheus": {"labels": {"release": "kube-prometheus-stack"}},
    "waitFor": "60m",
    "pullSecret": "registry",
    "labels": {"team": "ran"},
}
DELIVERY = DeliverySpec(repository="https://git.example.com/a.git")

#: The kinds of a class's own objects, as their files call them.
OWN_KINDS = (
    "clusterrole",
    "clusterrolebinding",
    "configmap",
    "daemonset",
    "networkpolicy",
    "podmonitor",
    "prometheusrule",
    "role",
    "rolebinding",
    "serviceaccount",
)


def asking(platform: str = "kubernetes", **verify: Any) -> ConfiguredPlan:
    """A plan whose intent asks to verify its nodes."""
    version = "4.20" if platform == "openshift" else "1.34"
    given = {"image": IMAGE, **verify}
    spec = {"verify": given, "runtime": {"sharedNamespaces": ["du"]}}
    return plan(regular(cores=8), shared="2", platform=platform, version=version, spec=spec)


def objects(*plans: ConfiguredPlan) -> dict[str, list[dict[str, Any]]]:
    """What is written to verify their nodes, by kind."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for path, data in backends.tree(Plan(plans), DELIVERY).items():
        if "/manifests/40-" in path:
            made = yaml.safe_load(data)
            by_kind.setdefault(made["kind"], []).append(made)
    return by_kind


def pod(made: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    spec: dict[str, Any] = made["DaemonSet"][0]["spec"]["template"]["spec"]
    return spec


def test_nothing_unless_it_is_asked_for() -> None:
    assert not objects(plan(regular(cores=8), platform="kubernetes", version="1.34"))


def test_the_least_is_an_agent_without_any_right() -> None:
    made = objects(asking())
    kinds = ["ConfigMap", "DaemonSet", "Namespace", "NetworkPolicy", "ServiceAccount"]
    assert sorted(made) == kinds
    assert pod(made)["automountServiceAccountToken"] is False
    assert pod(made)["containers"][0]["args"] == [
        *("agent", "--root", "/host", "--state", "/state"),
        *("--interval", "60s", "--listen", ":9876"),
    ]


@pytest.mark.parametrize("platform", ["kubernetes", "openshift"])
def test_everything_can_be_read_back(platform: str) -> None:
    files = backends.tree(Plan((asking(platform, **ALL),)), DELIVERY)
    assert not emitted.check(files)


@pytest.mark.parametrize("platform", ["kubernetes", "openshift"])
def test_the_project_may_sync_it_and_each_file_is_known(platform: str) -> None:
    files = backends.tree(Plan((asking(platform, **ALL),)), DELIVERY)
    project = yaml.safe_load(files["argocd/appproject.yaml"])["spec"]
    allowed = {
        (entry["group"], entry["kind"])
        for key in ("clusterResourceWhitelist", "namespaceResourceWhitelist")
        for entry in project[key]
    }
    paths = [path for path in files if "/manifests/40-" in path]
    written = {path: yaml.safe_load(files[path]) for path in paths}
    kinds = {
        (document["apiVersion"].rpartition("/")[0], document["kind"])
        for document in written.values()
    }
    assert kinds <= allowed
    assert {*VERIFY_KINDS, *VERIFY_CLUSTER_KINDS} <= allowed
    own = {f"40-{kind}-{agent_name('ran-server')}.yaml" for kind in OWN_KINDS}
    others = {path.rpartition("/")[2] for path in written} - own
    policies = {
        f"40-validatingadmissionpolicy{end}-cpuplan-agent-{what}.yaml"
        for end in ("", "binding")
        for what in ("status", "events")
    }
    shared = {"40-namespace-cpuplan.yaml", "40-securitycontextconstraints-cpuplan-agent.yaml"}
    shared |= policies
    assert {name for name in others if "cpuplan-arrival" not in name} <= shared


def test_a_pod_is_asked_each_minute_whether_it_lives_and_sooner_whether_it_is_ready() -> None:
    (container,) = pod(objects(asking()))["containers"]
    periods = [container[f"{name}Probe"]["periodSeconds"] for name in ("liveness", "readiness")]
    assert periods == [60, 10]


def test_projects_without_it_may_not_sync_it() -> None:
    files = backends.tree(Plan((plan(),)), DELIVERY)
    assert b"DaemonSet" not in files["argocd/appproject.yaml"]


def test_the_agent_is_a_user_of_its_own_and_can_only_read() -> None:
    spec = pod(objects(asking(**ALL)))
    assert not spec.keys() & {"hostPID", "hostNetwork", "hostIPC"}
    [container] = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert spec["securityContext"] == {
        "runAsUser": 65520,
        "runAsGroup": 65520,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert "requests" in container["resources"]
    assert "cpu" not in container["resources"]["limits"]


PLATFORMS = {
    "openshift": "4.20",
    "kubernetes": "1.34",
    "rke2": "1.34",
    "k3s": "1.34",
    "talos": "1.12",
    "bottlerocket": "1.34",
}


def of_platform(name: str, **verify: Any) -> ConfiguredPlan:
    spec = {"verify": {"image": IMAGE, **verify}}
    return plan(regular(cores=8), platform=name, version=PLATFORMS[name], spec=spec)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_folders_are_those_of_the_table_without_sockets_keys_and_volumes(platform: str) -> None:
    spec = pod(objects(of_platform(platform)))
    mounts = spec["containers"][0]["volumeMounts"]
    assert all(mount["readOnly"] for mount in mounts)
    folders = {mount["mountPath"] for mount in mounts} - {"/state"}
    assert {"/host/etc", "/host/proc", "/host/sys/fs/cgroup"} <= folders
    for folder in folders:
        place = places.of(folder.removeprefix("/host/"))
        assert place
        assert not place.left_out, folder
        assert place.by is By.USER
    # Below these are sockets of programs that obey, volumes of pods, and files of the kernel.
    above = {
        "/host",
        "/host/run",
        "/host/run/systemd",
        "/host/sys",
        "/host/sys/kernel",
        "/host/var",
    }
    above |= {"/host/sys/fs", "/host/var/lib", "/host/dev", "/host/var/lib/kubelet"}
    assert not folders & above
    names = [volume["name"] for volume in spec["volumes"]]
    assert len(names) == len(set(names)) == len(mounts)
    assert {mount["name"] for mount in mounts} == set(names)
    assert all(re.fullmatch("[a-z0-9-]{1,63}", name) for name in names)


@pytest.mark.parametrize(
    ("version", "recursive"), [("1.29", None), ("1.30", None), ("1.31", "IfPossible")]
)
def test_mounts_below_are_read_only_where_the_release_can(
    version: str, recursive: str | None
) -> None:
    spec = {"verify": {"image": IMAGE}}
    configured = plan(regular(cores=8), platform="kubernetes", version=version, spec=spec)
    mounts = pod(objects(configured))["containers"][0]["volumeMounts"]
    of_host = [mount for mount in mounts if mount["name"] != "state"]
    assert {mount.get("recursiveReadOnly") for mount in of_host} == {recursive}
    # The API server refuses it with propagation; without, no later mount of the host comes along.
    assert {mount["mountPropagation"] for mount in of_host} == {"None"}


def test_more_access_is_asked_for() -> None:
    root = pod(objects(of_platform("kubernetes", access="root")))
    assert root["securityContext"]["runAsUser"] == 0
    # Of another group than the host's processes: the kernel lets it trace none of them.
    assert root["securityContext"]["runAsGroup"] == 65520
    [container] = root["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    by_path = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    kubelet = by_path["/host/var/lib/kubelet"]
    assert kubelet["readOnly"]
    assert kubelet["mountPropagation"] == "HostToContainer"
    assert "recursiveReadOnly" not in kubelet
    hidden = {path for path, mount in by_path.items() if mount["name"] == "nothing"}
    assert {"/host/var/lib/kubelet/pods", "/host/var/lib/kubelet/device-plugins"} <= hidden
    tracing = pod(objects(asking(access="tracing")))
    [container] = tracing["containers"]
    added = ["DAC_READ_SEARCH", "SYS_PTRACE"]
    assert container["securityContext"]["capabilities"] == {"add": added, "drop": ["ALL"]}


def test_environments_of_pods_are_read_where_cpus_can_be_shared_only() -> None:
    [container] = pod(objects(of_platform("kubernetes", access="tracing")))["containers"]
    assert container["securityContext"]["capabilities"]["add"] == ["SYS_PTRACE"]


def test_single_files() -> None:
    path = "/var/lib/kubelet/config.yaml"
    spec = pod(objects(of_platform("kubernetes", files=[path])))
    assert {"name": "file-0", "hostPath": {"path": path, "type": "File"}} in spec["volumes"]
    mounts = spec["containers"][0]["volumeMounts"]
    assert f"/host{path}" in {mount["mountPath"] for mount in mounts}


def network(**verify: Any) -> dict[str, Any]:
    [policy] = objects(of_platform("kubernetes", **verify))["NetworkPolicy"]
    spec: dict[str, Any] = policy["spec"]
    return spec


def test_nobody_connects_and_the_agent_nowhere_unless_asked_for() -> None:
    configured = of_platform("kubernetes")
    [policy] = objects(configured)["NetworkPolicy"]
    template = objects(configured)["DaemonSet"][0]["spec"]["template"]
    labels = policy["spec"]["podSelector"]["matchLabels"]
    assert labels.items() <= template["metadata"]["labels"].items()
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert not policy["spec"].keys() & {"ingress", "egress"}


def test_prometheus_connects_and_the_agent_to_the_api_server() -> None:
    prometheus = {"namespace": "monitoring", "pods": {"app": "prometheus"}}
    spec = network(prometheus=prometheus, condition=True)
    [rule] = spec["ingress"]
    assert rule["ports"] == [{"port": 9876, "protocol": "TCP"}]
    assert rule["from"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
            "podSelector": {"matchLabels": {"app": "prometheus"}},
        }
    ]
    assert [port["port"] for port in spec["egress"][0]["ports"]] == [443, 6443]
    assert "to" not in spec["egress"][0]
    server = {"cidrs": ["10.0.0.0/24"], "ports": [6443]}
    [rule] = network(events=True, apiServer=server)["egress"]
    assert rule["to"] == [{"ipBlock": {"cidr": "10.0.0.0/24"}}]
    assert rule["ports"] == [{"port": 6443, "protocol": "TCP"}]
    assert network(prometheus={})["ingress"][0]["from"] == [{"namespaceSelector": {}}]


def test_it_runs_on_the_nodes_of_the_class() -> None:
    spec = pod(objects(asking()))
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    named = [term["matchFields"][0]["values"] for term in required["nodeSelectorTerms"]]
    assert named == [["worker-0"], ["worker-1"]]
    spec = pod(objects(asking(nodeSelector={"pool": "ran"})))
    assert "affinity" not in spec
    assert spec["nodeSelector"] == {"pool": "ran"}


def test_rights_are_those_of_what_is_asked_for() -> None:
    made = objects(asking(condition=True))
    [role] = made["ClusterRole"]
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["nodes/status"],
            "resourceNames": ["worker-0", "worker-1"],
            "verbs": ["get", "patch"],
        }
    ]
    assert "Role" not in made
    assert pod(made)["automountServiceAccountToken"] is True
    made = objects(asking(events=True))
    [events] = made["Role"]
    assert events["metadata"]["namespace"] == "default"
    assert events["rules"] == [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
    assert "ClusterRole" not in made


def test_bindings_name_their_roles_and_accounts() -> None:
    made = objects(asking(**ALL))
    accounts = {account["metadata"]["name"] for account in made["ServiceAccount"]}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in made[kind]:
            roles = {role["metadata"]["name"] for role in made[binding["roleRef"]["kind"]]}
            assert binding["roleRef"]["name"] in roles
            assert {subject["name"] for subject in binding["subjects"]} <= accounts
    assert pod(made)["serviceAccountName"] in accounts


def test_openshift_admits_the_pods_by_constraints_of_their_own() -> None:
    made = objects(asking("openshift"))
    [constraints] = made["SecurityContextConstraints"]
    assert constraints["allowPrivilegedContainer"] is False
    assert constraints["allowHostPID"] is False
    assert constraints["users"] == constraints["groups"] == []
    assert constraints["allowedCapabilities"] == []
    assert constraints["runAsUser"] == {"type": "MustRunAsNonRoot"}
    tracing = objects(asking("openshift", access="tracing"))["SecurityContextConstraints"]
    assert tracing[0]["allowedCapabilities"] == ["DAC_READ_SEARCH", "SYS_PTRACE"]
    assert tracing[0]["runAsUser"] == {"type": "RunAsAny"}
    [role] = made["ClusterRole"]
    assert role["rules"][0]["resourceNames"] == [constraints["metadata"]["name"]]
    assert role["rules"][0]["verbs"] == ["use"]
    assert pod(made)["securityContext"]["seLinuxOptions"] == {"type": "spc_t"}
    [namespace] = made["Namespace"]
    assert namespace["metadata"]["annotations"]["openshift.io/node-selector"] == ""


def test_with_workload_partitioning_it_runs_on_reserved_cpus() -> None:
    spec = {"verify": {"image": IMAGE}}
    made = objects(plan(regular(cores=8), target={"cpuPartitioning": True}, spec=spec))
    template = made["DaemonSet"][0]["spec"]["template"]["metadata"]
    assert json.loads(template["annotations"]["target.workload.openshift.io/management"]) == {
        "effect": "PreferredDuringScheduling"
    }
    allowed = made["Namespace"][0]["metadata"]["annotations"]["workload.openshift.io/allowed"]
    assert allowed == "management"


def test_the_state_is_that_of_out() -> None:
    configured = asking()
    files = backends.tree(Plan((configured,)))
    [path] = [path for path in files if "/40-configmap-" in path]
    data = yaml.safe_load(files[path])["data"]
    assert data == {
        "ran-server.json": files["clusters/site-a/expected/state/ran-server.json"].decode()
    }


def test_the_job_waits_for_all_classes() -> None:
    [job] = objects(asking(**ALL))["Job"]
    annotations = job["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/hook"] == "PostSync"
    assert "argocd.argoproj.io/sync-options" not in annotations
    assert job["spec"]["activeDeadlineSeconds"] == 3900
    spec = job["spec"]["template"]["spec"]
    [container] = spec["containers"]
    said = "-C /project check cluster --wait 60m --cluster site-a"
    assert container["args"] == said.split()
    sources = spec["volumes"][0]["projected"]["sources"]
    paths = [item["path"] for source in sources for item in source["configMap"]["items"]]
    folder = "out/clusters/site-a/expected"
    assert paths[0] == f"{folder}/state/ran-server.json"
    assert f"{folder}/objects/10-runtimeclass-ran.json" in paths[1:]


def test_what_the_job_mounts_is_what_is_in_out() -> None:
    files = backends.tree(Plan((asking(**ALL),)))
    maps = {
        made["metadata"]["name"]: made["data"]
        for path, data in files.items()
        if "/40-configmap-" in path and (made := yaml.safe_load(data))
    }
    [job] = objects(asking(**ALL))["Job"]
    for source in job["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"]:
        name, [item] = source["configMap"]["name"], source["configMap"]["items"]
        assert maps[name][item["key"]] == files[item["path"].removeprefix("out/")].decode()


def test_the_job_may_read_every_kind_that_is_compared() -> None:
    every = [
        asking("openshift", **ALL),
        plan(spec={"verify": ALL}, platform="kubernetes", version="1.34"),
        *(
            plan(
                spec={"verify": ALL},
                platform="kubernetes",
                version="1.34",
                target={"mechanism": mechanism},
            )
            for mechanism in ("balloons", "dra", "koordinator")
        ),
    ]
    rules = access.reading(job.reads(every))
    allowed = {
        (group, kind) for rule in rules for group in rule["apiGroups"] for kind in rule["resources"]
    }
    assert {(kind.group, kind.plural) for kind in KINDS_OF_A_CLUSTER.values()} <= allowed


def test_the_job_may_read_what_other_classes_of_its_cluster_compile() -> None:
    other = plan(platform="kubernetes", version="1.34", target={"mechanism": "koordinator"})
    made = cluster_manifests([asking(**ALL), other], {})
    [role] = [manifest.data for manifest in made if manifest.data["kind"] == "ClusterRole"]
    assert "configmaps" in {kind for rule in role["rules"] for kind in rule["resources"]}


def test_the_job_reads_only() -> None:
    roles = objects(asking("openshift", **ALL))["ClusterRole"]
    [role] = [
        role_object for role_object in roles if role_object["metadata"]["name"] == "cpuplan-arrival"
    ]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    kinds = {kind for rule in role["rules"] for kind in rule["resources"]}
    assert {"nodes", "machineconfigpools", "noderesourcetopologies"} <= kinds
    assert "secrets" not in kinds
    assert "pods" not in kinds  # only with Koordinator are those of nodes compared


def rules(configured: ConfiguredPlan) -> list[dict[str, Any]]:
    [rule] = objects(configured)["PrometheusRule"]
    [group] = rule["spec"]["groups"]
    alerts: list[dict[str, Any]] = group["rules"]
    return alerts


def test_the_rules_name_metrics_that_the_agent_has() -> None:
    board = State(60)
    board.put(
        Checked(Known("a", "b", "c"), Counts({}, {("CP811", "error"): 1}, is_verified=True), ()),
        0.1,
    )
    served = set(
        re.findall("^cpuplan_\\w+", view.text(board.view(), Known("a", "b", "c")), re.MULTILINE)
    )
    asked = {
        name for rule in rules(asking(**ALL)) for name in re.findall("cpuplan_\\w+", rule["expr"])
    }
    assert asked <= served
    assert len(asked) == 5


def test_each_alert_links_to_its_heading() -> None:
    headings = re.findall("^## (\\w+)$", (REPOSITORY / "docs/alerts.md").read_text(), re.MULTILINE)
    names = [rule["alert"] for rule in rules(asking(**ALL))]
    assert names == headings
    pages = [rule["annotations"]["runbook_url"] for rule in rules(asking(**ALL))]
    assert pages == [f"https://cpuplan.io/docs/alerts#{name.lower()}" for name in names]


def test_names_that_are_too_long_for_labels() -> None:
    assert agent_name("a" * 49) == "cpuplan-agent-" + "a" * 49
    assert len(agent_name("a" * 80)) == 63
    assert agent_name("a.b") == "cpuplan-agent-a-b"


OWN = 'plan_cluster="site-a",plan_class="ran-server"'
ALERT = {"plan_cluster": "site-a", "plan_class": "ran-server", "severity": "warning"}


def case(alert: str, minutes: int, series: dict[str, str], *expected: dict[str, str]) -> Any:
    """A test of `promtool test rules`: series, and which alerts fire when."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": value} for name, value in series.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{minutes}m",
                "alertname": alert,
                "exp_alerts": [{"exp_labels": labels} for labels in expected],
            }
        ],
    }


def finding(node: str, code: str, severity: str = "error") -> str:
    return f'cpuplan_findings{{node="{node}",{OWN},code="{code}",severity="{severity}"}}'


def facts(node: str) -> str:
    return f'cpuplan_facts{{node="{node}",{OWN},verdict="unverifiable"}}'


def verified(node: str) -> str:
    return f'cpuplan_verified{{node="{node}",{OWN}}}'


def current(node: str) -> str:
    return f'cpuplan_check_current{{node="{node}",{OWN}}}'


def info(node: str, digest: str, own: str = OWN) -> str:
    return f'cpuplan_plan_info{{node="{node}",{own},digest="{digest}"}}'


def cases(digest: str) -> list[Any]:
    on_a = {**ALERT, "node": "a"}
    two = finding("a", "CP811"), finding("a", "CP812", "warning")
    both = [{**on_a, "code": "CP811"}, {**on_a, "code": "CP812"}]
    absent, other = "CPUPlanAgentAbsent", 'plan_cluster="x",plan_class="ran-server"'
    return [
        case("CPUPlanDiffers", 9, {two[0]: "1x30"}),
        case("CPUPlanDiffers", 11, dict.fromkeys(two, "1x30"), *both),
        case("CPUPlanDiffers", 11, {two[0]: "1x5 _x30"}),
        case("CPUPlanUnverified", 59, {facts("a"): "3x90"}),
        case("CPUPlanUnverified", 61, {facts("a"): "3x90"}, {**on_a, "severity": "info"}),
        case("CPUPlanUnverified", 61, {facts("a"): "0x90"}),
        case("CPUPlanNothingVerified", 29, {verified("a"): "0x60"}),
        case("CPUPlanNothingVerified", 31, {verified("a"): "0x60", verified("b"): "1x60"}, on_a),
        case("CPUPlanNotChecked", 11, {current("a"): "0x30", current("b"): "1x30"}, on_a),
        case("CPUPlanNotChecked", 11, {current("a"): "0x5 1x30"}),
        case("CPUPlanStale", 16, {info("a", digest): "1x30"}),
        case("CPUPlanStale", 16, {info("a", "old"): "1x30"}, {**on_a, "digest": "old"}),
        case("CPUPlanStale", 16, {info("a", "old", other): "1x30"}),
        case(absent, 16, {info("a", digest): "1x30", info("b", digest): "1x30"}),
        # Two series of one node, while it changes its plan, are one agent.
        case(absent, 16, {info("a", digest): "1x30", info("a", "old"): "1x30"}, ALERT),
        case(absent, 16, {}, ALERT),
        case(absent, 14, {}),
    ]


@needs_promtool
def test_alerts_fire_when_they_should(tmp_path: Path) -> None:
    alerts = rules(asking(**ALL))
    [stale] = [rule for rule in alerts if rule["alert"] == "CPUPlanStale"]
    digests = re.findall('digest!="([0-9a-f]{64})"', stale["expr"])
    # Annotations are texts for people, which change; that they can be filled is checked below.
    bare = [dict(rule) for rule in alerts]
    for rule in bare:
        del rule["annotations"]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "a", "rules": bare}]}))
    tests = {"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": cases(*digests)}
    (tmp_path / "tests.json").write_text(json.dumps(tests))
    promtool("test", "rules", str(tmp_path / "tests.json"))


@needs_promtool
@pytest.mark.parametrize("platform", ["kubernetes", "openshift"])
def test_prometheus_takes_the_rules(platform: str, tmp_path: Path) -> None:
    [rule] = objects(asking(platform, **ALL))["PrometheusRule"]
    (tmp_path / "rules.json").write_text(json.dumps(rule["spec"]))
    assert "6 rules found" in promtool("check", "rules", str(tmp_path / "rules.json"))
