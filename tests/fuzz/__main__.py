"""`python -m tests.fuzz TARGET [SECONDS]`: one target by coverage, with atheris (libFuzzer), from
the seeds on.
"""

import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Run until the time is over or something is found, whose input libFuzzer leaves in the current
    folder.
    """
    try:
        import atheris
    except ImportError as error:
        print(f"skipped: atheris is not installed ({error}); pip install '.[fuzz]'")
        return 0
    with atheris.instrument_imports(include=["cpuplan"]):
        from tests.fuzz.targets import TARGETS, seeds_of
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        print(f"targets: {', '.join(TARGETS)}")
        return 2
    seconds = sys.argv[2] if len(sys.argv) > 2 else "60"
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds_of(name)):
            Path(folder, str(number)).write_bytes(seed)
        limits = [
            f"-max_total_time={seconds}",
            "-max_len=65536",
            "-rss_limit_mb=2000",
            "-timeout=120",
        ]
        atheris.Setup([sys.argv[0], folder, *limits], TARGETS[name])
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
