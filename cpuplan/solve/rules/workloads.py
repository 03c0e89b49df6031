"""Room for the workloads that must fit, by their sum."""

from collections.abc import Iterator

from cpuplan.model.pools import Workload
from cpuplan.solve.constraints import Amount
from cpuplan.solve.rules.rule import Rule, Statements, machine
from cpuplan.text import counted, joined


def workloads_fit(statements: Statements) -> Iterator[Rule]:
    """The isolated pool, and each partition, has the exclusive CPUs of its workloads on one node.

    The sum is necessary, not sufficient: the place of each container depends on kubelet policies.
    """
    scope = machine(statements.topology)
    for name in statements.sets:
        indexes, workloads = [], []
        for index, workload in enumerate(statements.node_class.spec.workloads):
            if workload.pool == name or workload.pool.startswith(f"{name}."):
                indexes.append(index)
                workloads.append(workload)
        if workloads:
            wanted = sum(workload.cpus * workload.pods for workload in workloads)
            text = f"{joined(list(map(_words, workloads)))} must fit into {name}"
            field = f"workloads.{indexes[0]}" if len(indexes) == 1 else "workloads"
            amount = Amount(name, scope, "CPUs", wanted, max(wanted, len(scope.cpus)))
            yield statements.rule(name, field, text, amount)


def _words(workload: Workload) -> str:
    cpus = counted(workload.cpus, "CPU")
    if workload.pods == 1:
        return f"{workload.name} ({cpus})"
    return f"{workload.pods} pods {workload.name} of {cpus}"
