"""Fuzzers of all that reads what others wrote: no exception, nothing outside is touched, documents
that load.

`python -m pytest -m slow tests/fuzz` runs each target for a moment, and for CPUPLAN_FUZZ_SECONDS if
that is set. `python -m tests.fuzz.campaign TARGET [CPU SECONDS [FOLDER]]` goes on after a find, and
keeps finds and slow inputs. `python -m tests.fuzz TARGET [SECONDS]` runs one by coverage with
atheris (`pip install .[fuzz]`).
"""
