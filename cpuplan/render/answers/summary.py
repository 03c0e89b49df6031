"""The answers of a check in numbers and words: of one node, and of many grouped by what differs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.naming import fold_names
from cpuplan.base.text import at_most, counted, printable
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.evidence import SOMETHING, Answer, Heals, Situation, Threshold, Verdict
from cpuplan.render.text import MOST, Member, table, together


def counts(answers: Sequence[Answer]) -> dict[Verdict, int]:
    """How many facts have each verdict. A fact that differs anywhere differs."""
    return {verdict: len(facts) for verdict, facts in by_verdict(answers).items()}


def by_verdict(answers: Sequence[Answer]) -> dict[Verdict, list[str]]:
    """The facts of each verdict, each fact once."""
    facts: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for fact, verdict in verdicts(answers).items():
        facts[verdict].append(fact)
    return facts


def unshown(answers: Sequence[Answer]) -> int:
    """How many of the facts that cannot be verified are such as no node shows."""
    shown = {answer.fact for answer in answers if not answer.is_unshown}
    return len({answer.fact for answer in answers} - shown)


def verdicts(answers: Sequence[Answer]) -> dict[str, Verdict]:
    """The verdict on each fact: it holds if one file shows it and none differs."""
    order = (Verdict.UNVERIFIABLE, Verdict.HELD, Verdict.DIFFERS)
    worst: dict[str, Verdict] = {}
    for answer in answers:
        known = worst.get(answer.fact, Verdict.UNVERIFIABLE)
        worst[answer.fact] = max(known, answer.verdict, key=order.index)
    return worst


def sentence(node: str, answers: Sequence[Answer], threshold: Threshold = SOMETHING) -> str:
    """`worker-0 holds what was compiled for it (45 facts held, 7 not verifiable here)`."""
    number = counts(answers)
    held, differ, unknown = (number[verdict] for verdict in Verdict)
    verb = "differs" if differ == 1 else "differ"
    parts = [f"{counted(held, 'fact')} held"]
    parts += [f"{differ} {verb}"] if differ else []
    parts += [f"{unknown} not verifiable here"] if unknown else []
    where = evidence.standing(answers, threshold)
    is_short = where is Situation.UNSEEN and evidence.is_verified(answers)
    words = "shows too little of what was compiled for it" if is_short else where.value
    return f"{node} {words} ({', '.join(parts)})"


def coverage(answers: Sequence[Answer]) -> str:
    """A line for each answer: its verdict, the fact, what was read, and why it says nothing."""
    return "".join(f"{line}\n" for line in _lines(answers))


def _lines(answers: Sequence[Answer]) -> Iterator[str]:
    width = max((len(verdict.value) for verdict in Verdict), default=0)
    for answer in sorted(answers, key=lambda line: line.fact):
        words = [answer.verdict.value.ljust(width), printable(answer.fact)]
        if answer.evidence:
            words.append(f"({printable(answer.evidence)})")
        if answer.reason:
            words.append(f"- {printable(why(answer))}")
        yield " ".join(words)


def why(answer: Answer) -> str:
    """Why a fact cannot be verified, and whether that is so on every node."""
    return f"{answer.reason} (no node shows it)" if answer.is_unshown else answer.reason


#: Names and ranges of nodes in a message.
_MAX_NAMES = 4
#: Nodes that are told instead of those that differ.
_MAX_OTHERS = 3


class Checked(NamedTuple):
    """What was checked: a node of a class, or with an empty class the objects of a cluster."""

    name: str
    cluster: str
    class_name: str
    digest: str
    answers: Sequence[Answer]
    intent: str = ""

    @property
    def is_node(self) -> bool:
        return bool(self.class_name)


def distinct(checked: Sequence[Checked]) -> list[Checked]:
    """The same, with the cluster in the name of each node whose name another cluster has, too."""
    clusters: dict[str, set[str]] = {}
    for node in checked:
        clusters.setdefault(node.name, set()).add(node.cluster)
    return [
        node if len(clusters[node.name]) == 1 else node._replace(name=f"{node.cluster}/{node.name}")
        for node in checked
    ]


class Group(NamedTuple):
    """One difference, and the nodes that have it; none for one of the cluster's objects."""

    finding: Diagnostic
    facts: tuple[str, ...]
    observed: str
    expected: str
    heals: Heals | None
    nodes: tuple[str, ...]


def groups(checked: Iterable[Checked]) -> list[Group]:
    """Differences by what is observed and expected; those of most nodes first."""
    by_key: dict[tuple[str, ...], Group] = {}
    for node in checked:
        for answer in node.answers:
            if answer.finding is None:
                continue
            key = _key(answer, answer.finding, node.name)
            known = by_key.setdefault(key, _first(answer, answer.finding))
            nodes = (*known.nodes, node.name) if node.is_node else known.nodes
            facts = tuple(dict.fromkeys((*known.facts, _nameless(answer.fact, node.name))))
            by_key[key] = known._replace(nodes=tuple(dict.fromkeys(nodes)), facts=facts)
    return sorted(by_key.values(), key=lambda group: -len(group.nodes))


def _key(answer: Answer, finding: Diagnostic, name: str) -> tuple[str, ...]:
    """What makes two findings one: their values; without any, their words."""
    if answer.observed and answer.expected:
        return finding.code, answer.fact, answer.observed, answer.expected
    return finding.code, _nameless(finding.message, name)


def _nameless(text: str, name: str) -> str:
    """A text without the name of the node that it is about."""
    bare = name.rpartition("/")[2]
    return re.sub(rf"(?<![\w.-]){re.escape(bare)}(?![\w.-])", "NODE", text)


def _first(answer: Answer, finding: Diagnostic) -> Group:
    return Group(finding, (), answer.observed, answer.expected, answer.heals, ())


def findings(
    checked: Sequence[Checked], differences: Iterable[Group], *, verbose: bool = False
) -> list[Diagnostic]:
    """A finding for each group, which says how many nodes have it, and which."""
    names = list(dict.fromkeys(node.name for node in checked if node.is_node))
    return [_finding(group, names, verbose=verbose) for group in differences]


def _finding(group: Group, names: Sequence[str], *, verbose: bool) -> Diagnostic:
    finding, number = group.finding, len(group.nodes)
    if not number:
        return finding
    which = told(group.nodes, names, verbose=verbose)
    head = f"{number} of {counted(len(names), 'node')} ({which})"
    message, remedy = finding.message, finding.remedy
    if number > 1:
        message, remedy = (_nameless(text, group.nodes[0]) for text in (message, remedy))
    return finding._replace(message=f"{head}: {message}", remedy=remedy, stands_for=number)


def unproven(
    checked: Sequence[Checked], threshold: Threshold = SOMETHING, *, verbose: bool = False
) -> list[Diagnostic]:
    """CP8132 for nodes of which too little was looked at, those with the same reasons together."""
    names = list(dict.fromkeys(node.name for node in checked if node.is_node))
    by_reasons: dict[tuple[evidence.Evidence, str, str], list[str]] = {}
    for node in checked:
        # What the cluster's objects show has no share: one may belong to another cluster.
        wanted = threshold if node.is_node else SOMETHING
        seen = evidence.evidence_of(node.answers)
        is_needed = node.is_node or seen.verifiable
        if is_needed and not wanted.is_met(seen):
            key = seen, str(wanted), evidence.unseen_reasons(node.answers)
            by_reasons.setdefault(key, []).append(node.name)
    made = []
    if not names:
        nothing = evidence.evidence_of(())
        made.append(_unproven("no node is known", nothing, str(threshold), "all"))
    for (seen, least, why_not), nodes in by_reasons.items():
        what = f"{len(nodes)} of {counted(len(names), 'node')} ({_which(nodes, names, verbose)})"
        if nodes[0] not in names:
            what = ", ".join(nodes)
        made.append(_unproven(what, seen, least, why_not)._replace(stands_for=len(nodes)))
    return made


def _which(nodes: Sequence[str], names: Sequence[str], verbose: bool) -> str:
    return told(list(dict.fromkeys(nodes)), names, verbose=verbose)


def _unproven(what: str, seen: evidence.Evidence, least: str, reasons: str) -> Diagnostic:
    return diagnose(
        "CP8132",
        what=what,
        verified=seen.verified,
        facts=seen.verifiable,
        wanted=least if least.endswith("%") else f"at least {least}",
        reasons=reasons,
    )


def unproven_node(
    name: str, answers: Sequence[Answer], threshold: Threshold = SOMETHING
) -> list[Diagnostic]:
    """CP8132 for a single node of which too little was looked at."""
    seen = evidence.evidence_of(answers)
    if threshold.is_met(seen):
        return []
    return [_unproven(name, seen, str(threshold), evidence.unseen_reasons(answers))]


def told(nodes: Sequence[str], every: Sequence[str], *, verbose: bool = False) -> str:
    """The nodes as ranges, or the few of `every` that are not among them."""
    others = [name for name in every if name not in set(nodes)]
    if not others and len(nodes) > 1:
        return "all"
    if 0 < len(others) <= _MAX_OTHERS < len(nodes):
        return f"all but {', '.join(fold_names(others))}"
    folded = fold_names(nodes)
    return at_most(folded, len(folded) if verbose else _MAX_NAMES)


def fleet_sentence(checked: Sequence[Checked], threshold: Threshold = SOMETHING) -> str:
    """`38 of 40 nodes hold what was compiled for them (1,204 facts held, 2 differ, ...)`.

    Nodes of which too little was looked at do not hold, and are told first.
    """
    # A node of which there are several snapshots is one.
    nodes = {node.name for node in checked if node.is_node}
    unseen = {node.name for node in checked if node.is_node and _is_unseen(node, threshold)}
    holding = nodes - unseen - {node.name for node in checked if _differs(node)}
    total = dict.fromkeys(Verdict, 0)
    for node in checked:
        for verdict, number in counts(node.answers).items():
            total[verdict] += number
    held, differ, unknown = (f"{total[verdict]:,}" for verdict in Verdict)
    verb = "holds" if len(holding) == 1 else "hold"
    first = f"not verified: {len(unseen)} of {counted(len(nodes), 'node')}; " if unseen else ""
    return (
        f"{first}{len(holding)} of {counted(len(nodes), 'node')} {verb} what was compiled "
        f"({held} facts held, {differ} differ, {unknown} not verifiable here)"
    )


def _is_unseen(node: Checked, threshold: Threshold) -> bool:
    return not evidence.is_verified(node.answers, threshold)


def by_class(
    checked: Sequence[Checked], *, every: bool = False, threshold: Threshold = SOMETHING
) -> str:
    """A line for each of several classes: how many nodes hold, and which of them differ.

    Of many classes, unless `every` one is asked for, a line for what they have in common.
    """
    nodes = [node for node in checked if node.is_node]
    lines = together(nodes, _member, every=every)
    classes = {member for line in lines for member in line.members}
    if len(classes) < 2:
        return ""
    first = "CLASS" if len(classes) == len(lines) else "CLASSES"
    # What holds is what neither differs nor is left unseen; a column says so where it is needed.
    has_unseen = any(_is_unseen(node, threshold) for node in nodes)
    between = ("UNSEEN",) if has_unseen else ()
    head = (first, "NODES", "HOLD", "DIFFER", *between, "NOT VERIFIABLE", "NODES THAT DIFFER")
    # Where nodes differ is the first thing to read, if not all fits.
    ordered = list(lines.items())
    if not every and len(ordered) > MOST:
        ordered.sort(key=lambda pair: not any(map(_differs, pair[1])))
    shown = ordered if every else ordered[:MOST]
    rest = [node for _, members in ordered[len(shown) :] for node in members]
    rows = [_class_row(line.title, members, threshold, has_unseen) for line, members in shown]
    text = table([head, *rows])
    return text + (f"and {counted(len(rest), 'node')} more\n" if rest else "")


def _member(node: Checked) -> Member:
    return Member(node.cluster, node.intent or node.class_name, node.class_name)


def _differs(node: Checked) -> bool:
    return any(answer.finding for answer in node.answers)


def _class_row(
    title: str, checks: Sequence[Checked], threshold: Threshold, has_unseen: bool
) -> tuple[str, ...]:
    """Facts that cannot be verified are counted once, on however many nodes that is."""
    # A node of which there are several snapshots is one.
    names = list(dict.fromkeys(node.name for node in checks))
    differing = list(dict.fromkeys(node.name for node in checks if _differs(node)))
    unknown = {fact for node in checks for fact in by_verdict(node.answers)[Verdict.UNVERIFIABLE]}
    which = told(differing, names) if differing else ""
    unseen = {node.name for node in checks if _is_unseen(node, threshold)} - set(differing)
    held = str(len(names) - len(differing) - len(unseen))
    between = (str(len(unseen)),) if has_unseen else ()
    facts = counted(len(unknown), "fact")
    return title, str(len(names)), held, str(len(differing)), *between, facts, which


class Unverified(NamedTuple):
    """A fact that nothing shows on some nodes, and why."""

    fact: str
    reason: str
    nodes: tuple[str, ...]


def unverified(checked: Iterable[Checked]) -> list[Unverified]:
    """Facts that are not verifiable, by reason."""
    by_fact: dict[tuple[str, str], list[str]] = {}
    for node in checked:
        for answer in node.answers:
            if answer.verdict is Verdict.UNVERIFIABLE:
                by_fact.setdefault((answer.fact, answer.reason), []).append(node.name)
    return [Unverified(*key, tuple(nodes)) for key, nodes in by_fact.items()]


def fleet_coverage(checked: Sequence[Checked]) -> str:
    """A line for each verdict on each fact, with the nodes that have it."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for node in checked:
        for answer in node.answers:
            key = (answer.fact, answer.verdict.value, why(answer))
            rows.setdefault(key, []).append(node.name)
    names = [node.name for node in checked]
    width = max(len(verdict.value) for verdict in Verdict)
    lines = []
    for (fact, verdict, reason), nodes in sorted(rows.items()):
        because = f" - {reason}" if reason else ""
        which = told(list(dict.fromkeys(nodes)), names)
        lines.append(f"{verdict.ljust(width)} {fact} ({which}){because}\n")
    return "".join(lines)
