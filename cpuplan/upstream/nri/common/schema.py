"""The Go types that the objects of both policies have: what their strict decoder takes."""

STRINGS = frozenset(
    {
        "string",
        "policy.Amount",
        "policy.CPUTopologyLevel",
        "policy.ComponentCreationStrategy",
        "balloons.CPUPriority",
        "topologyaware.CPUPriority",
        "resmgr.Operator",
        "policy.SchedulingPolicy",
        "policy.SchedulingFlag",
        "policy.IOPriorityClass",
    }
)
FREQUENCY = "policy.Frequency"
INTEGERS = frozenset({"int", "uint", "uint64", "int64"})

#: Fields of every spec beside those of the policy.
COMMON_SPEC = {
    "control": "control.Config",
    "log": "log.Config",
    "instrumentation": "any",
    "agent": "AgentConfig",
}
COMMON: dict[str, dict[str, str]] = {
    "control.Config": {"cpu": "cpu.Config", "rdt": "any", "blockio": "blockio.Config"},
    "cpu.Config": {"classes": "map[string]Class"},
    "Class": {
        "minFreq": "uint",
        "maxFreq": "uint",
        "energyPerformancePreference": "uint",
        "uncoreMinFreq": "uint",
        "uncoreMaxFreq": "uint",
        "freqGovernor": "string",
        "disabledCstates": "[]string",
    },
    "blockio.Config": {"enable": "bool", "usePodQoSAsDefaultClass": "bool"},
    "log.Config": {"debug": "[]string", "source": "bool", "klog": "any"},
    "AgentConfig": {"nodeResourceTopology": "bool", "podResourceAPI": "bool"},
    "SchedulingClass": {
        "name": "string",
        "policy": "policy.SchedulingPolicy",
        "priority": "int",
        "flags": "[]policy.SchedulingFlag",
        "nice": "int",
        "runtime": "uint64",
        "deadline": "uint64",
        "period": "uint64",
        "ioClass": "policy.IOPriorityClass",
        "ioPriority": "int",
    },
    "CPUClass": {
        "name": "string",
        "minFreq": FREQUENCY,
        "maxFreq": FREQUENCY,
        "energyPerformancePreference": "uint",
        "uncoreMinFreq": FREQUENCY,
        "uncoreMaxFreq": FREQUENCY,
        "freqGovernor": "string",
        "disabledCstates": "[]string",
        "turboPriority": "int",
        "pctPriority": "string",
        "sstClosID": "int",
        "pctMinFreq": FREQUENCY,
        "pctMaxFreq": FREQUENCY,
        "publishExtendedResource": "bool",
    },
}
