"""What a `case.yaml` of `tests/rejected/` names under `while`: what lasts while its command runs.

What no file of a project can say: another process, a worker that is killed, a bug.
"""

import fcntl
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cpuplan.solve import budget
from cpuplan.workers import Workers
from tests.unit.change.impact import by_cost


@contextmanager
def another_run(project: Path) -> Iterator[None]:
    folder = os.open(project, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    yield
    os.close(folder)


def mount_point(project: Path) -> AbstractContextManager[object]:
    """Only root can mount, so this says of `out` that it is one."""
    return patch("os.path.ismount", lambda path: Path(path) == project / "out")


def edited_meanwhile(project: Path) -> AbstractContextManager[object]:
    """Somebody saves a lock while the files are made."""
    from cpuplan import backends

    def output(*given: Any) -> backends.Output:
        (project / "intents/plan.lock.yaml").write_text("# mine\n")
        return made(*given)

    made = backends.output
    return patch("cpuplan.backends.output", output)


def few_names(project: Path) -> AbstractContextManager[object]:
    """A million names would take a while to make."""
    return patch("cpuplan.base.files.MAX_NAMES", 1)


def wrong_type(_project: Path) -> AbstractContextManager[object]:
    """A backend that writes a number where the kubelet reads text."""
    from cpuplan.backends.base import to_file

    def number_for_text(configuration: dict[str, Any]) -> bytes:
        return to_file(configuration | {"apiVersion": 1})

    return patch("cpuplan.backends.kubernetes.to_file", number_for_text)


def without_a_package(_project: Path) -> AbstractContextManager[object]:
    """As where cpuplan was installed without the packages that it needs."""
    missing = ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
    return patch("cpuplan.cli.main.import_module", side_effect=missing)


def outside_of_a_pod(_project: Path) -> AbstractContextManager[object]:
    """Without an API server, whatever the tests run in."""
    own = {name: value for name, value in os.environ.items() if "KUBERNETES" not in name}
    return patch.dict(os.environ, own, clear=True)


@contextmanager
def bug(project: Path) -> Iterator[None]:
    """A bug, whose traceback is saved in the project's folder."""
    # The name of the file differs each time; `rejected_cases` replaces it.
    with (
        patch("cpuplan.pipeline.load", side_effect=KeyError("isolated")),
        patch.object(tempfile, "tempdir", project),
    ):
        yield


@contextmanager
def no_memory(project: Path) -> Iterator[None]:
    """The first file is too much for the process."""
    with patch("cpuplan.language.read.yaml.compose", side_effect=MemoryError):
        yield


def without_a_client(_project: Path) -> AbstractContextManager[object]:
    missing = ImportError("No module named 'kubernetes'")
    return patch("cpuplan.check.cluster.client.import_module", side_effect=missing)


@contextmanager
def api(project: Path, status: int, body: Any) -> Iterator[None]:
    """An API server that answers one thing, and the file `kubeconfig` for it."""
    from tests import api_http

    serves = api_http.Api([])
    serves.hostile["/"] = api_http.answer(body, status)
    with api_http.serving(serves) as server:
        api_http.kubeconfig(project / "kubeconfig", server)
        yield


def judged_by_cost(_project: Path) -> AbstractContextManager[object]:
    return patch("cpuplan.change.impact.rules.steps", by_cost.steps)


@contextmanager
def killed_workers(_project: Path) -> Iterator[None]:
    """Little work is divided too, and what it is given to kills itself."""
    here = os.getpid()

    def end(*_: object, **__: object) -> None:
        assert os.getpid() != here
        os.kill(os.getpid(), signal.SIGKILL)

    copy = multiprocessing.get_context("fork")  # it has the patches, too
    with (
        patch("cpuplan.workers.divide._MANY", 0),
        patch("cpuplan.workers.executors._context", lambda *_: copy),
        patch("cpuplan.pipeline.batch.make", end),
    ):
        yield


def soon_unreachable(_project: Path) -> AbstractContextManager[object]:
    return patch("cpuplan.workers.dask._ANSWERS", 1)


@contextmanager
def older_workers(_project: Path) -> Iterator[None]:
    """A scheduler whose workers have an earlier release."""
    own, other = "0.1.0 (6b0c7d21a5e9, Python 3.11)", "0.0.9 (1f3a94c0d2b7, Python 3.11)"
    with (
        ThreadPoolExecutor(1) as executor,
        patch("cpuplan.workers.dask.scheduler") as scheduler,
        patch("cpuplan.workers.executors.edition", side_effect=[own, other]),
    ):
        scheduler.return_value = nullcontext(Workers(1, executor))
        yield


def without_dask(_project: Path) -> AbstractContextManager[object]:
    missing = ImportError("No module named 'distributed'")
    return patch("cpuplan.workers.dask.import_module", side_effect=missing)


@contextmanager
def committed_cache(project: Path) -> Iterator[None]:
    """A cache folder in the project, as a pipeline's variables may name it."""
    with (
        patch.dict(os.environ, {"XDG_CACHE_HOME": str(project / ".cache")}),
        patch("cpuplan.cli.options.is_without_cache", return_value=False),
    ):
        yield


def nothing_found(_: Path) -> AbstractContextManager[object]:
    """A second of work that is over before it begins."""
    return patch.object(budget.Effort, "check", side_effect=budget.UndecidedError)


def nothing_explained(_: Path) -> AbstractContextManager[object]:
    """A second of work that is over with the proof."""
    return patch("cpuplan.solve.feasibility.most_calls", side_effect=budget.UndecidedError)


CONTEXTS: dict[str, Callable[..., AbstractContextManager[object]]] = {
    "another-run": another_run,
    "mount-point": mount_point,
    "edited-meanwhile": edited_meanwhile,
    "few-names": few_names,
    "wrong-type": wrong_type,
    "without-a-package": without_a_package,
    "outside-of-a-pod": outside_of_a_pod,
    "bug": bug,
    "no-memory": no_memory,
    "without-a-client": without_a_client,
    "api": api,
    "judged-by-cost": judged_by_cost,
    "killed-workers": killed_workers,
    "soon-unreachable": soon_unreachable,
    "older-workers": older_workers,
    "without-dask": without_dask,
    "committed-cache": committed_cache,
    "nothing-found": nothing_found,
    "nothing-explained": nothing_explained,
}
