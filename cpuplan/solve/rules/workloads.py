"""Room for the workloads that must fit, by their sum."""

from collections.abc import Iterator

from cpuplan.model.pools import Workload
from cpuplan.solve.constraints import Amount
from cpuplan.solve.rules.rule import Rule, Statements, machine
from cpuplan.text import counted, joined


def workloads_fit(statements: Statements) -> Iterator[Rule]:
    """The isolated pool, and each partition, has the exclusive CPUs of its workloads on one node.

    A sum is needed and not enough: where each container runs depends on the kubelet's policies.
    """
    scope = machine(statements.topology)
    for name in statements.sets:
        mine = [
            (index, workload)
            for index, workload in enumerate(statements.node_class.spec.workloads)
            if workload.pool == name or workload.pool.startswith(f"{name}.")
        ]
        if mine:
            wanted = sum(workload.cpus * workload.pods for _, workload in mine)
            text = f"{joined([_told(workload) for _, workload in mine])} must fit into {name}"
            field = f"workloads.{mine[0][0]}" if len(mine) == 1 else "workloads"
            amount = Amount(name, scope, "CPUs", wanted, max(wanted, len(scope.cpus)))
            yield statements.rule(name, field, text, amount)


def _told(workload: Workload) -> str:
    cpus = counted(workload.cpus, "CPU")
    return (
        f"{workload.name} ({cpus})"
        if workload.pods == 1
        else f"{workload.pods} pods {workload.name} of {cpus}"
    )
