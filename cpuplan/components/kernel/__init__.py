"""The kernel command line: boot arguments in the order of the node tuning operator's profile.

All of it follows from the plan and nothing from the CPUs that are online at the moment, so that two
boots get the same line. What TuneD computes on the node changes once CPUs were switched off, and
costs a second reboot.
"""

from cpuplan.components.kernel.settings import computed, settings, unbalanced
from cpuplan.components.kernel.text import argument, arguments, occurrences, parse, render
from cpuplan.components.kernel.vendors import AMD, ARM, BEFORE_ICE_LAKE, INTEL, is_tunable
from cpuplan.facts.settings.kernel import NAME

__all__ = [
    "AMD",
    "ARM",
    "BEFORE_ICE_LAKE",
    "INTEL",
    "NAME",
    "argument",
    "arguments",
    "computed",
    "is_tunable",
    "occurrences",
    "parse",
    "render",
    "settings",
    "unbalanced",
]
