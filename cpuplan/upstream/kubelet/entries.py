"""What a manager has given to containers and whole pods: CPUs, or blocks of memory."""

from typing import Generic, TypeVar

Given = TypeVar("Given")


class Entries(Generic[Given]):
    """By pod UID, and by container name below it."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Given]] = {}
        self.pod_entries: dict[str, Given] = {}

    def delete(self, pod: str, container: str) -> None:
        containers = self.entries.get(pod, {})
        containers.pop(container, None)
        if not containers:
            self.entries.pop(pod, None)

    def delete_pod(self, pod: str) -> None:
        self.entries.pop(pod, None)
        self.pod_entries.pop(pod, None)
