"""Answers of commands that only read a project, repeated while all that they read is the same.

They are kept beside the records of projects (`write.record`), and with these under one switch. What
an answer depends on is its name: the program, the words of the command line and where they were
said, what the terminal is like, the day (waivers end), the project's folders and the files that are
named. If a command opened anything else, wrote a file, started a program or asked the network, or
if something changed meanwhile, nothing is kept.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cpuplan.base.files import cache, fingerprint
from cpuplan.base.program import is_covered
from cpuplan.cli.output import echo, screen_width, settings, today, use_colour
from cpuplan.language.read.files import FOLDERS, OUTPUT, POD_FOLDER
from cpuplan.write import record


def answered(work: Callable[[], int], named: Sequence[str | Path] = ()) -> int:
    """The exit code of `work`, which prints what a project says; perhaps as printed before.

    `named` are words of the command line that may be files. An error that is raised is no answer.
    """
    given = settings()
    root = given.root
    has_streams = sys.stdout is not None and sys.stderr is not None
    if not (given.cache and has_streams and cache.cache_folder(root)) or given.output:
        return work()
    tops = [*(root / name for name in (*FOLDERS, POD_FOLDER, OUTPUT)), *named]
    before = fingerprint.state_of(tops, listed=[root])
    if before is None:
        return work()
    asked = _question(root)
    known = record.find_answer(root, f"{asked} {before.content}")
    if known:
        for said in known.said:
            echo(said.text, colour=said.colour, err=said.is_error, nl=said.has_line_end)
        return known.code
    said_now: list[record.Said] = []
    given.said = said_now
    try:
        with fingerprint.watched(_watch(root, tops)) as watch:
            code = work()
    finally:
        given.said = None
    is_same = (_question(root), fingerprint.state_of(tops, listed=[root])) == (asked, before)
    if watch.is_clean and is_same:
        made = record.Answer(tuple(said_now), code)
        record.save_answer(root, f"{asked} {before.content}", made)
    return code


def _watch(root: Path, tops: Sequence[str | Path]) -> fingerprint.Watch:
    """What is told where a command opens a file that its answer's name does not depend on."""
    inside = [os.path.abspath(top) for top in tops]
    top = os.path.abspath(root)

    def may_read(path: str) -> bool:
        is_input = path == top or any(path == of or path.startswith(f"{of}/") for of in inside)
        return is_input or is_covered(path) or cache.is_of_cache(path)

    def may_write(path: str) -> bool:
        return is_covered(path) or cache.is_of_cache(path)

    return fingerprint.Watch(may_read, may_write)


def _question(root: Path) -> str:
    """What an answer depends on beside the program and the files."""
    terminal = (use_colour(), use_colour(sys.stderr), screen_width())
    return repr((settings().words, os.getcwd(), os.path.realpath(root), terminal, today()))
