"""Prometheus's own checker (Debian: prometheus), which .ci/run fetches."""

import shutil
import subprocess

import pytest

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed"
)


def promtool(*words: str, text: str = "") -> str:
    """What it says; a test fails where it finds anything."""
    done = subprocess.run(
        ["promtool", *words], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
