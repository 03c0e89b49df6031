"""The process: `cpuplan`, or `python -m cpuplan`."""

import gc
import os
import sys


def main() -> None:
    """Run the command that the arguments name, and end the process with its exit code."""
    # The process is short, and most of what it makes lives to its end: Python's own threshold makes
    # the loading of modules slower, and the reading of 10,000 nodes by half.
    gc.set_threshold(1_000_000, 50, 100)
    # pydantic would look for plugins in every package that is installed, for a tenth of a start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if sys.stdout:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a text stream, as Python makes it
    from cpuplan.cli.main import run

    leave(run(sys.argv[1:]))


def leave(code: int) -> None:
    """End the process.

    Python would first take every module and object apart, a fifth of a compilation's time. Nothing
    waits for that: what is written is closed already. Under a debugger or profiler, which has its
    say at the end, it goes the usual way.
    """
    if _is_watched():
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except BrokenPipeError:
            pass  # the reader has seen enough
        except OSError:
            code = code or 1  # a full disk: what was said is not there
    os._exit(code)


def _is_watched() -> bool:
    """Whether a debugger, profiler or measure of coverage runs: tools since Python 3.12."""
    if sys.gettrace() or sys.getprofile():
        return True
    return sys.version_info >= (3, 12) and any(map(sys.monitoring.get_tool, range(6)))


if __name__ == "__main__":
    main()
