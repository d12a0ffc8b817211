"""Fixtures of all tests that drive the installed command.

Where the command and the compiled test programs lie comes from the build:
MEMTRACK_BINARY (build/cli/memtrack) and MEMTRACK_PROGRAMS (build/tests). By hand:

    MEMTRACK_BUILD=build pytest tests/conformance
"""
import fcntl
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import interpreters
import tracked

# The second reader of the capture format.
sys.path.append(str(pathlib.Path(__file__).resolve().parent / "golden"))

# A shell starts what runs in the background with two of these ignored, nohup with the third, and so would
# all that is tested here.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true",
                     help="the sizes of a release instead of the quick ones (minutes to hours)")


def _build_path(variable, inside_build):
    if variable in os.environ:
        return pathlib.Path(os.environ[variable])
    root = pathlib.Path(__file__).resolve().parent.parent
    return pathlib.Path(os.environ.get("MEMTRACK_BUILD", root / "build")).resolve() / inside_build


@pytest.fixture(scope="session")
def binary():
    """The memtrack command under test."""
    path = _build_path("MEMTRACK_BINARY", "cli/memtrack")
    assert os.access(path, os.X_OK), f"{path}: no memtrack there; build it first"
    return path


@pytest.fixture(scope="session")
def programs():
    """Return the path of a compiled test program by its name."""
    folder = _build_path("MEMTRACK_PROGRAMS", "tests")

    def find(name):
        found = sorted(path for path in folder.rglob(name) if path.is_file())
        assert found, f"{folder}: no {name} there; build it first"
        return found[0]

    return find


@pytest.fixture
def memtrack(binary, tmp_path):
    """Runs programs under the command; captures lie in the test's own folder."""
    return tracked.Memtrack(binary, tmp_path)


@pytest.fixture
def is_full(request):
    """True when the run asked for the sizes of a release."""
    return request.config.getoption("--full")


@pytest.fixture(params=interpreters.found(), ids=lambda python: python.name)
def python(request):
    """Each interpreter of the machine that the tracker knows."""
    return request.param


@pytest.fixture(scope="session")
def any_python():
    """One interpreter with a GIL, where the version makes no difference."""
    return next(python for python in interpreters.found() if not python.is_free_threaded)


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Return an interpreter that has a package of PyPI, by its name.

    They are installed into one environment, kept in MEMTRACK_TEST_PACKAGES if that is set, by one of
    the processes that run tests at once while the others wait. A machine that cannot install them skips
    what needs them.
    """
    home = os.environ.get("MEMTRACK_TEST_PACKAGES") or tmp_path_factory.mktemp("packages")
    home = pathlib.Path(home)
    python = home / "bin" / "python"

    def have(name):
        with open(f"{home}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not python.exists():
                subprocess.run([sys.executable, "-m", "venv", home], check=True)
            wanted = [python, "-c", f"import {name}"]
            if subprocess.run(wanted, stderr=subprocess.DEVNULL, check=False).returncode != 0:
                installed = subprocess.run([python, "-m", "pip", "install", "-q", name],
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                           text=True, timeout=900, check=False)
                if installed.returncode != 0:
                    pytest.skip(f"{name} cannot be installed: {installed.stdout[-300:]}")
        return python

    return have
