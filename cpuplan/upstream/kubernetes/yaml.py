"""YAML as Go's reader (sigs.k8s.io/yaml) takes it.

Upstream: kubernetes/kubernetes vendor/sigs.k8s.io/yaml/yaml.go vendor/go.yaml.in/yaml/v2/decode.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import json
from collections import deque
from typing import Any

import yaml

from cpuplan.base import yaml_values
from cpuplan.base.yaml_values import LOADER
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import quote


def load(text: str, tab_problem: str) -> tuple[Any, list[str]]:
    """The first document, and a line for each key that is there twice; the last one counts.

    KubeletError with the text of Go's reader. Its releases differ in what they say about a tab.
    """
    duplicates: list[str] = []

    class Loader(yaml.SafeLoader):
        """YAML 1.1 without dates; the last of equal keys counts."""

    def construct_mapping(loader: Loader, node: yaml.MappingNode) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            name = key if isinstance(key, str) else json.dumps(key, default=str)
            if name in fields:
                line = key_node.start_mark.line + 1
                shown = quote(name) if isinstance(key, str) else name
                duplicates.append(f"line {line}: key {shown} already set in map")
            fields[name] = loader.construct_object(value_node, deep=True)
        return fields

    Loader.yaml_implicit_resolvers = {
        first: list(filter(_is_resolved, resolvers))
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_constructor("tag:yaml.org,2002:map", construct_mapping)
    try:
        return next(yaml_values.load_yaml11(text, Loader), None), duplicates
    except yaml.YAMLError as error:
        raise KubeletError(f"yaml: {_problem(text, error, tab_problem)}") from None
    except ValueError as error:
        raise KubeletError(f"yaml: {error}") from None


def _problem(text: str, error: yaml.YAMLError, tab_problem: str) -> str:
    """What Go's reader says: it was made from libyaml, and has its words.

    It counts lines from 0 where a token is in a wrong place, and tells none of the first line.
    """
    reported = _by_libyaml(text) or error
    mark = getattr(reported, "problem_mark", None)
    problem = getattr(reported, "problem", None) or str(reported)
    if "'\\t' that cannot start any token" in str(error):
        problem = tab_problem
    line = mark.line if mark else 0
    if line and not isinstance(reported, yaml.parser.ParserError):
        line += 1
    return f"line {line}: {problem}" if line else problem


def _by_libyaml(text: str) -> yaml.YAMLError | None:
    try:
        deque(yaml.parse(text, Loader=LOADER), maxlen=0)
    except yaml.YAMLError as error:
        return error
    return None


def _is_resolved(resolver: tuple[str, Any]) -> bool:
    """Whether Go's YAML reader knows the tag of a resolver (tag, pattern)."""
    return not resolver[0].endswith(("timestamp", "value"))
