"""Emitted user data, judged by cloud-init's own schema."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.named_cases import compiled

PROGRAM = "cloud-init"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which(PROGRAM), reason=f"{PROGRAM} (Debian: cloud-init) is not installed"
    ),
]


def judge(data: bytes, folder: Path) -> str:
    """What cloud-init says of user data."""
    (folder / "user-data").write_bytes(data)
    command = [PROGRAM, "schema", "--config-file", str(folder / "user-data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_user_data(tmp_path: Path) -> None:
    (data,) = (
        data
        for path, data in compiled("deliveries").files.items()
        if path.endswith(".cloud-init.yaml")
    )
    assert "Valid" in judge(data, tmp_path)
    assert "Valid" not in judge(data.replace(b'"0644"', b"644"), tmp_path)
