"""The names that Git gives to contents."""

import hashlib

from cpuplan.git.repository import Repository


def name_of(repository: Repository, data: bytes) -> str:
    """The name of a file's content."""
    form = repository.settings.get("extensions.objectformat", "sha1")
    digest = hashlib.new(form, f"blob {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
