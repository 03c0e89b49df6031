"""`python -m tests.mutation [CASE...] [-v]`: what is found of each family, as a table."""

import sys

from tests.mutation import cases, table


def main(words: list[str]) -> int:
    """Print the table, and what is missed and found wrongly; 1 if there is anything."""
    chosen = [word for word in words if not word.startswith("-")] or list(cases.names())
    outcomes = [outcome for name in chosen for outcome in table.outcomes(cases.case(name))]
    print(table.render(outcomes))
    bad = [outcome for outcome in outcomes if not outcome.is_found or outcome.wrongly]
    for outcome in bad if "-v" in words else ():
        what = "wrongly" if outcome.is_found else "missed"
        print(f"{what}: {outcome.case}: {outcome.mutation.family}: {outcome.mutation.name}")
        for text in outcome.wrongly if outcome.is_found else outcome.new:
            print(f"    {text[:300]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
