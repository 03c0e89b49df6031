# Short names for what `.ci/jobs/` and modules of `tests` do; the gate needs no `just`.
# `just` lists them. Debian 13 has it as a package; `pip install rust-just` brings it elsewhere.

python := ".venv/bin/python"

_list:
    @{{just_executable()}} --list --unsorted

# everything that must hold before a merge, or the named jobs: `just gate lint unit`
gate *jobs:
    .ci/run {{jobs}}

# programs of Debian, and a fresh .venv
environment:
    .ci/jobs/environment

# style, scripts, habits, types, floors, out/
lint:
    .ci/jobs/lint

# the tests that everybody runs
unit:
    .ci/jobs/unit

# what upstream programs answered
conformance:
    .ci/jobs/conformance

# large fleets, long fuzzing, programs of Debian
slow:
    .ci/jobs/slow

# virtual machines with what was compiled for them
boot:
    .ci/jobs/boot

# wheel, bundle, image, SBOM
supply:
    .ci/jobs/supply

# the tests below a folder or file, in one process: `just test tests/unit/upstream/kubelet`
test *paths:
    {{python}} -m pytest -x {{paths}}

# files that are made from the code; read the difference
generate:
    {{python}} -m tests.generate
    git status --short
