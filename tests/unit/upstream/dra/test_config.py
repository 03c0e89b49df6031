"""The driver's configuration: file, flags, and what it refuses."""

import pytest

from cpuplan.upstream.dra.api import DraError
from cpuplan.upstream.dra.driverconfig import Config, resolve

MISSPELT = 'cannot apply config.yaml: field "groupby" is spelled differently from the schema; use '


def test_nothing_given() -> None:
    assert resolve() == resolve("") == Config()


def test_flags_win_over_the_file() -> None:
    config = resolve(
        "reservedCPUs: 0-3\ngroupBy: bogus\n", ["--group-by=socket", "-kubeconfig", "k"]
    )
    assert (config.reserved, config.group_by, config.kubeconfig) == (15, "socket", "k")


def test_words_behind_the_flags_are_no_flags() -> None:
    assert resolve(words=["--expose-pcie-roots", "gatherinfo", "--nope"]).expose_pcie_roots


def test_the_folder_of_the_kubelet_is_cleaned() -> None:
    assert resolve(words=["--kubelet-root-dir=//var/./a/../k/"]).kubelet_root_dir == "/var/k"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "reservedCPUs: 0\n",
            (
                "cannot apply config.yaml: applying config map: json: cannot "
                "unmarshal number into Go struct field Config.reservedCPUs of type string"
            ),
        ),
        ("groupby: socket\n", f'{MISSPELT}"groupBy"'),
        (
            "KubeletRootDir: /k\n",
            (
                'cannot apply config.yaml: field "KubeletRootDir" is not '
                "configurable via the config file; use the chart's top-level kubeletRootDir value, "
                "or --kubelet-root-dir when running the binary directly"
            ),
        ),
        (
            "a: [\n",
            (
                "cannot apply config.yaml: parsing config.yaml: error converting YAML to JSON: "
                "yaml: line 1: did not find expected node content"
            ),
        ),
        (
            "- a\n",
            (
                "cannot apply config.yaml: parsing config.yaml: error unmarshaling JSON: while "
                "decoding JSON: json: cannot unmarshal array into Go value of type "
                "map[string]interface {}"
            ),
        ),
        ("reservedCPUs: 3-1\n", 'failed to parse reserved CPUs: invalid range "3-1" (3 > 1)'),
        (
            "cpuDeviceMode: both\n",
            (
                'cannot validate config: invalid cpuDeviceMode "both": must be '
                '"grouped" or "individual"'
            ),
        ),
    ],
)
def test_files_that_the_driver_refuses(file: str, message: str) -> None:
    with pytest.raises(DraError) as caught:
        resolve(file)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config-file=x"], "flag provided but not defined: -config-file"),
        (["-=x"], "bad flag syntax: -=x"),
        (["--kubeconfig"], "flag needs an argument: -kubeconfig"),
        (["-h"], "flag: help requested"),
        (
            ["--group-by=node"],
            (
                'invalid value "node" for flag -group-by: invalid value: "node", '
                "must be socket, numanode or machine"
            ),
        ),
        (
            ["--kubelet-root-dir=a/../.."],
            ('cannot validate config: invalid kubeletRootDir "..": must be an absolute path'),
        ),
    ],
)
def test_flags_that_the_driver_refuses(words: list[str], message: str) -> None:
    with pytest.raises(DraError) as caught:
        resolve(None, words)
    assert str(caught.value) == message


def test_bug_the_group_counts_for_nothing_in_individual_mode() -> None:
    """A wrong word waits until the mode changes."""
    assert resolve("cpuDeviceMode: individual\ngroupBy: bogus\n").group_by == "bogus"
