"""A real API server with its etcd, from programs that the environment names."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

from tests.drift.client import Client

APISERVER, ETCD = "CPUPLAN_KUBE_APISERVER", "CPUPLAN_ETCD"
#: Further arguments of the API server, such as --runtime-config for APIs behind a gate.
ARGUMENTS = "CPUPLAN_KUBE_APISERVER_ARGUMENTS"
_TOKEN = "drift"  # noqa: S105 - of a server that lives for one test
_SECONDS = 90


def missing() -> str:
    """Why there is no server; empty where there is one."""
    for name in (APISERVER, ETCD):
        program = os.environ.get(name, "")
        if not program:
            return f"{name} names no program: this is run where kube-apiserver and etcd are"
        if shutil.which(program) is None:
            return f"{name}: {program} cannot be run"
    return "" if shutil.which("openssl") else "openssl is not installed"


@contextmanager
def running(folder: Path) -> Iterator[Client]:
    """A client of a server that runs meanwhile, with its files in `folder`."""
    store, peer, port = (_free_port() for _ in range(3))
    with ExitStack() as stack:
        stack.enter_context(_process(_etcd(folder, store, peer), folder / "etcd.log"))
        command = _apiserver(folder, store, port)
        process = stack.enter_context(_process(command, folder / "apiserver.log"))
        client = Client(f"https://127.0.0.1:{port}", _TOKEN)
        _wait(client, process, folder / "apiserver.log")
        yield client


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _etcd(folder: Path, store: int, peer: int) -> list[str]:
    address, between = f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peer}"
    return [
        os.environ[ETCD],
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={address}",
        f"--advertise-client-urls={address}",
        f"--listen-peer-urls={between}",
        f"--initial-advertise-peer-urls={between}",
        f"--initial-cluster=default={between}",
        "--unsafe-no-fsync",
    ]


def _apiserver(folder: Path, store: int, port: int) -> list[str]:
    key, tokens = folder / "accounts.key", folder / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    tokens.write_text(f'{_TOKEN},tester,1,"system:masters"\n')
    return [
        os.environ[APISERVER],
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=AlwaysAllow",
        *os.environ.get(ARGUMENTS, "").split(),
    ]


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _wait(client: Client, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it is ready; an error with its log where it is not."""
    with suppress(TimeoutError):
        until(lambda: process.poll() is not None or _is_ready(client))
    if not _is_ready(client):
        raise AssertionError(f"no API server: {log.read_text(errors='replace')[-3000:]}")


def _is_ready(client: Client) -> bool:
    try:
        return client.ask("GET", "/readyz").status == 200
    except (OSError, HTTPException):
        client.close()
        return False


def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again; TimeoutError after a while."""
    end = time.monotonic() + _SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.5)
