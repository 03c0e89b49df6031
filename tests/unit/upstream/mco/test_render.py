"""Selecting, ordering and merging the objects of a pool."""

from typing import Any

import pytest

from cpuplan.upstream.mco.common import RenderError
from cpuplan.upstream.mco.render_controller import Rendered, render
from tests.unit.upstream.mco.objects import Json, file, files, ignition, machine_config, pool

CNF = pool("cnf", "worker", "cnf")


def rendered(*configs: Json, release: tuple[int, int] = (5, 1), **arguments: Any) -> Rendered:
    answer = render(CNF, configs, release, **arguments)
    assert answer is not None
    return answer


def refused(*configs: Json, release: tuple[int, int] = (5, 1)) -> RenderError:
    with pytest.raises(RenderError) as caught:
        render(CNF, configs, release)
    return caught.value


def test_a_pool_takes_what_its_selector_matches() -> None:
    configs = [machine_config("a"), machine_config("b", "cnf"), machine_config("c", "infra")]
    assert rendered(*configs).order == ("a", "b")
    own_only = render(pool("cnf"), configs)
    assert own_only is not None
    assert own_only.order == ("b",)


def test_an_empty_selector_renders_nothing() -> None:
    assert render({"spec": {"machineConfigSelector": {}}}, [machine_config("a")]) is None


@pytest.mark.parametrize("spec", [{}, {"machineConfigSelector": {"matchLabels": {"a": "b"}}}])
def test_selecting_nothing_is_refused(spec: Json) -> None:
    with pytest.raises(RenderError) as caught:
        render({"metadata": {"name": "cnf"}, "spec": spec}, [machine_config("a")])
    assert caught.value.stage == "select"


def test_an_object_without_an_image_takes_none_back() -> None:
    config = rendered(machine_config("a", osImageURL="own"), machine_config("b"))
    assert (config.os_image, config.is_os_image_overridden) == ("own", True)


def test_worker_comes_first_since_4_15() -> None:
    configs = [machine_config("05-x", "cnf"), machine_config("99-y")]
    assert rendered(*configs).order == ("99-y", "05-x")
    assert rendered(*configs, release=(4, 14)).order == ("05-x", "99-y")


def test_names_compare_as_byte_strings() -> None:
    names = ("60", "100", "a-b", "a.b", "B", "\U0001f600", "\uffff")
    ordered = rendered(*map(machine_config, names)).order
    assert ordered == ("100", "60", "B", "a-b", "a.b", "\uffff", "\U0001f600")


def test_arguments_and_extensions_are_joined() -> None:
    joined = rendered(
        machine_config("b", kernelArguments=["x", "y z"], extensions=["ipsec"]),
        machine_config("a", kernelArguments=["x"], extensions=["ipsec"]),
    )
    assert joined.kernel_arguments == ("x", "x", "y z")
    assert joined.extensions == ("ipsec", "ipsec")


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("realtime", "default"), "realtime"),
        (("realtime", "64k-pages"), "64k-pages"),
        (("64k-pages", "realtime"), "realtime"),
        (("", "default"), "default"),
    ],
)
def test_no_object_takes_a_kernel_back(types: tuple[str, str], expected: str) -> None:
    first, second = types
    answer = rendered(machine_config("a", kernelType=first), machine_config("b", kernelType=second))
    assert answer.kernel_type == expected


def test_large_pages_came_with_4_15() -> None:
    config = machine_config("a", kernelType="64k-pages")
    assert rendered(config, release=(4, 15)).kernel_type == "64k-pages"
    assert refused(config, release=(4, 14)).machine_config == "a"


def test_any_object_turns_fips_on() -> None:
    assert rendered(machine_config("a", fips=True), machine_config("b", fips=False)).fips


def test_the_last_image_of_a_user_counts() -> None:
    configs = [
        machine_config("a", osImageURL="user"),
        machine_config("b", generated_by="current", osImageURL="stale"),
    ]
    assert rendered(*configs, default_os_image="os").os_image == "user"
    assert rendered(*configs, default_os_image="os").is_os_image_overridden
    assert rendered(*configs, release=(4, 20)).os_image == "stale"
    assert rendered(configs[1], default_os_image="os").os_image == "os"


def test_an_image_of_a_user_excludes_a_stream() -> None:
    streaming = {**pool(), "spec": {**pool()["spec"], "osImageStream": {"name": "rhel-10"}}}
    config = machine_config("a", osImageURL="user")
    assert render(streaming, [machine_config("a")]) is not None
    assert render(streaming, [config], (4, 21)) is not None
    with pytest.raises(RenderError) as caught:
        render(streaming, [config])
    assert caught.value.stage == "merge"


def test_the_extensions_image_of_a_user_counts() -> None:
    config = machine_config("a", baseOSExtensionsContainerImage="image")
    assert rendered(config).spec["baseOSExtensionsContainerImage"] == "image"


def test_rendering_waits_for_the_running_controller() -> None:
    error = refused(machine_config("a", generated_by="older"))
    assert (error.stage, error.machine_config) == ("merge", "a")


def test_one_bad_object_blocks_the_pool() -> None:
    error = refused(machine_config("a"), machine_config("b", config=files(file("relative"))))
    assert (error.stage, error.machine_config) == ("validate", "b")
    assert refused(machine_config("a", kernelType="rt")).stage == "validate"


@pytest.mark.parametrize(
    ("release", "with_config", "is_refused"),
    [
        ((4, 15), True, False),
        ((4, 16), True, True),
        ((4, 16), False, True),
        ((4, 18), False, False),
        ((5, 1), True, True),
    ],
)
def test_names_of_extensions(release: tuple[int, int], with_config: bool, is_refused: bool) -> None:
    spec: Json = {"config": ignition()} if with_config else {}
    config = machine_config("a", extensions=["telnet"], **spec)
    if is_refused:
        assert refused(config, release=release).stage == "validate"
    else:
        assert rendered(config, release=release).extensions == ("telnet",)


def test_an_extension_goes_with_a_release() -> None:
    config = machine_config("a", extensions=["wasm"], config=ignition())
    assert rendered(config, release=(4, 21)).extensions == ("wasm",)
    assert refused(config, release=(4, 22)).facts == {"values": ("wasm",)}


def test_kernel_devel_needs_the_default_kernel() -> None:
    headers = machine_config("a", extensions=["ipsec", "kernel-devel"])
    error = refused(headers, machine_config("b", kernelType="realtime"))
    assert (error.stage, error.machine_config) == ("merge", "a")
    assert error.facts == {"kernel_type": "realtime"}


def test_the_default_kernel_has_headers() -> None:
    config = machine_config("a", extensions=["kernel-devel"])
    assert rendered(config).extensions == ("kernel-devel",)


def test_objects_without_labels_are_refused_since_4_15() -> None:
    unlabelled = {"metadata": {"name": "a"}, "spec": {}}
    not_master = {"key": "role", "operator": "NotIn", "values": ["master"]}
    selecting = {"spec": {"machineConfigSelector": {"matchExpressions": [not_master]}}}
    with pytest.raises(RenderError) as caught:
        render(selecting, [unlabelled])
    assert caught.value.stage == "merge"
    assert render(selecting, [unlabelled], (4, 14)) is not None


def test_special_bits_are_refused_or_dropped() -> None:
    old_spec = machine_config("a", config=files(file(mode=0o4755)))
    assert refused(old_spec).stage == "validate"
    storage = rendered(old_spec, release=(4, 22)).config["storage"]
    assert storage["files"][0]["mode"] == 0o755
    new_spec = machine_config("a", config=files(file(mode=0o4755), version="3.4.0"))
    assert refused(new_spec, release=(4, 22)).stage == "validate"


def test_what_cannot_be_converted_is_seen_while_merging() -> None:
    spec2 = {"ignition": {"version": "2.2.0"}, "passwd": {"users": [{"name": "admin"}]}}
    assert refused(machine_config("a", config=spec2)).stage == "merge"


def test_special_bits_of_spec_2_are_refused_in_every_release() -> None:
    entry = {"filesystem": "root", **file(mode=0o4755)}
    config = machine_config("a", config=files(entry, version="2.2.0"))
    assert refused(config, release=(4, 18)).stage == "validate"


def test_rules_of_the_newest_spec_hold_for_older_ones() -> None:
    config = ignition("3.2.0", storage={"links": [{"path": "/a"}]})
    with pytest.raises(RenderError, match="a link needs a target") as caught:
        render(pool(), [machine_config("a", config=config)])
    assert caught.value.stage == "validate"


def test_overwrite_becomes_true() -> None:
    configs = [file("/a"), file("/b", overwrite=False)]
    storage = rendered(machine_config("a", config=files(*configs))).config["storage"]
    assert [entry["overwrite"] for entry in storage["files"]] == [True, False]


def test_bug_compression_is_kept_beside_plain_contents_before_4_20() -> None:
    gzip = {"source": "data:;base64,H4sIAAAAAAAAAwMAAAAAAAAAAAA=", "compression": "gzip"}
    configs = [
        machine_config("a", config=files({"path": "/a", "contents": gzip})),
        machine_config("b", config=files(file("/a", "two"))),
    ]
    contents = rendered(*configs).config["storage"]["files"][0]["contents"]
    assert contents == {"source": "data:,two"}
    before = rendered(*configs, release=(4, 19)).config["storage"]["files"][0]["contents"]
    assert before == {"source": "data:,two", "compression": "gzip"}


def test_a_file_without_contents_stays_without() -> None:
    """The reset of a compression leaves no empty contents behind."""
    configs = [
        machine_config("a", config=files({"path": "/a", "mode": 0o644})),
        machine_config("b", config=files({"path": "/a", "mode": 0o600})),
    ]
    [entry] = rendered(*configs).config["storage"]["files"]
    assert entry == {"path": "/a", "mode": 0o600, "overwrite": True}


def test_the_rendered_version_is_the_newest() -> None:
    assert rendered(machine_config("a")).config == {"ignition": {"version": "3.5.0"}}
    old = rendered(machine_config("a", config=ignition("3.1.0")), release=(4, 18))
    assert old.config == {"ignition": {"version": "3.4.0"}}
    error = refused(machine_config("a", config=ignition("3.5.0")), release=(4, 18))
    assert error.stage == "validate"
