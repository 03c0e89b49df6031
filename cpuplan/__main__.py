"""The process: `cpuplan`, or `python -m cpuplan`."""

import gc


def main() -> None:
    """Run the command that the arguments name, and end the process."""
    # It is short, and most of what it makes lives to its end: collecting while modules load would only cost time.
    gc.set_threshold(1_000_000, 50, 100)
    from cpuplan.cli import main as commands

    commands.main()


if __name__ == "__main__":
    main()
