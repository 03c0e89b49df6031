"""TuneD's own words."""

from cpuplan.check.services.tuned import Log, log_since_load, verified

BEGIN = "2026-11-22 10:03:41,220 "
TEXT = f"""\
{BEGIN}INFO     tuned.profiles.loader: loading profile: balanced
{BEGIN}ERROR    tuned.units.manager: failed to initialize plugin audio
{BEGIN}INFO     tuned.profiles.loader: loading profile: cpuplan
{BEGIN}ERROR    tuned.units.manager: failed to initialize plugin scheduler
{BEGIN}ERROR    tuned.units.manager: No module named 'perf'
Traceback (most recent call last):
{BEGIN}INFO     tuned.daemon.daemon: static tuning from profile 'cpuplan' applied
{BEGIN}INFO     tuned.daemon.daemon: verifying profile(s): cpuplan
{BEGIN}ERROR    tuned.plugins.base: verify: failed: 'vm.swappiness' = '60', expected '10'
{BEGIN}INFO     tuned.daemon.daemon: verifying profile(s): cpuplan
{BEGIN}ERROR    tuned.plugins.base: verify: failed: device cpu4: 'governor' = 'a', expected 'b'
"""


def test_since_the_last_profile() -> None:
    failed = "device cpu4: 'governor' = 'a', expected 'b'"
    assert log_since_load(TEXT) == Log("cpuplan", ("scheduler",), (failed,))
    assert log_since_load("") == Log("", (), ())


def test_verdict() -> None:
    assert verified("Verification succeeded, current system settings match the preset profile.\n")
    assert verified("Verification failed, current system settings differ\n") is False
    assert verified("Not supported in no_daemon mode.\n") is None
