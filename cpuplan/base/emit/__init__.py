"""Canonical text from plain data: YAML, JSON and TOML that are the same bytes on every machine.

Every file cpuplan emits in these formats is made here from data, never from a template, so no value
can break out of its place.
"""

from cpuplan.base.emit.json import Encoded as Encoded
from cpuplan.base.emit.json import to_json as to_json
from cpuplan.base.emit.toml import to_toml as to_toml
from cpuplan.base.emit.values import Flow as Flow
from cpuplan.base.emit.values import Noted as Noted
from cpuplan.base.emit.yaml import to_yaml as to_yaml
