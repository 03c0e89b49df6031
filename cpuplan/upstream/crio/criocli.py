"""CRI-O's command line, whose flags win over all files, and the variables that stand for flags.

From cri-o/cri-o, internal/criocli/criocli.go, and github.com/urfave/cli.

Upstream: cri-o/cri-o internal/criocli/criocli.go @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.crio.config import File, RefusedError
from cpuplan.upstream.crio.config_keys import TABLES
from cpuplan.upstream.kubernetes.strconv import FALSE, TRUE

CONFIG, CONFIG_DIR = "/etc/crio/crio.conf", "/etc/crio/crio.conf.d"
#: Flags that are spelt unlike their key.
_OTHER_NAMES = {
    "enable-nri": ("nri", "enable_nri"),
    "insecure-registry": ("image", "insecure_registries"),
    "log-journald": ("runtime", "log_to_journald"),
    "nri-disable-connections": ("nri", "nri_disable_connections"),
    "nri-listen": ("nri", "nri_listen"),
    "nri-plugin-config-dir": ("nri", "nri_plugin_config_dir"),
    "nri-plugin-dir": ("nri", "nri_plugin_dir"),
    "nri-plugin-registration-timeout": ("nri", "nri_plugin_registration_timeout"),
    "nri-plugin-request-timeout": ("nri", "nri_plugin_request_timeout"),
    "storage-opt": ("", "storage_option"),
}
#: Flags of no key that stand alone.
_SWITCHES = ("enable-metrics", "enable-profile-unix-socket", "enable-tracing", "help", "profile")
_SHORT = {"c": "config", "d": "config-dir", "l": "log-level", "h": "help", "v": "version"}
_FLAGS: Mapping[str, tuple[str, str]] = {
    **{
        key.replace("_", "-"): (table, key)
        for table in ("", "api", "image", "runtime")
        for key in TABLES[table]
    },
    **_OTHER_NAMES,
}
#: The flags that stand for a key.
NAMES = tuple(_FLAGS)
#: Parts of `--runtimes`, which gives a whole handler.
_HANDLER = ("runtime_path", "runtime_root", "runtime_type", "", "runtime_config_path")


class Flags(NamedTuple):
    """What a command line says: the main file, the folder, and keys as a file has them.

    `spelt` has the flag or the variable by its key, `runtimes.<name>` for a handler.
    """

    config: str = CONFIG
    config_dir: str = CONFIG_DIR
    file: File = File({}, ())
    spelt: Mapping[str, str] = {}


def parse(words: Sequence[str], environment: Mapping[str, str]) -> Flags:
    """The arguments of CRI-O. RefusedError where it does not take them."""
    others: dict[str, str] = {}
    tables: dict[str, dict[str, Any]] = {}
    spelt: dict[str, str] = {}
    for name, value, shown in [*_variables(environment), *_given(words)]:
        if name == "runtimes":
            for handler, table in _handlers(value):
                tables.setdefault("runtime", {}).setdefault("runtimes", {})[handler] = table
                spelt[f"runtimes.{handler}"] = shown
        elif name in _FLAGS:
            where, key = _FLAGS[name]
            tables.setdefault(where, {})[key] = _value(TABLES[where][key], value, shown)
            spelt[key] = shown
        else:
            others[name] = value
    config, folder = others.get("config", CONFIG), others.get("config-dir", CONFIG_DIR)
    return Flags(config, folder, File(tables, ()), spelt)


def _variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """`CONTAINER_INFRA_CTR_CPUSET` stands for `--infra-ctr-cpuset`, unless the flag is given."""
    known = {*_FLAGS, "config", "config-dir", "runtimes"}
    for variable, value in environment.items():
        name = variable.removeprefix("CONTAINER_").replace("_", "-").lower()
        if variable.startswith("CONTAINER_") and name in known:
            yield name, value, variable


def _given(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(name, value, as it is written) of each flag, up to the first word that is none."""
    left = list(reversed(words))
    while left and left[-1].startswith("-"):
        name, equals, value = left.pop().lstrip("-").partition("=")
        name = _SHORT.get(name, name)
        if not equals and (name in _SWITCHES or _kind(name) == "flag"):
            value = "true"
        elif not equals:
            if not left:
                raise RefusedError(f"flag needs an argument: --{name}")
            value = left.pop()
        yield name, value, f"--{name}"


def _kind(name: str) -> str:
    table, key = _FLAGS.get(name, ("", ""))
    return TABLES[table].get(key, "")


def _value(kind: str, value: str, shown: str) -> Any:
    if kind == "list":
        return value.split(",")
    if kind == "flag" and value in TRUE | FALSE:
        return value in TRUE
    if kind in ("number", "unsigned"):
        # Python's own blanks and digits are none of Go's.
        try:
            return int(value if value.isascii() and value.strip() == value else "", 0)
        except ValueError:
            kind = "flag"
    if kind == "flag":
        raise RefusedError(f'invalid value "{value}" for {shown}')
    return value


def _handlers(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """`name:path:root:type:...`, with commas between several."""
    for text in value.split(","):
        name, *fields = text.split(":")
        pairs = zip(_HANDLER, fields, strict=False)
        yield name, {key: field for key, field in pairs if key and field}
