"""Interpreters that the checks run in: one parameter for each, by name."""

import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--fetch", action="store_true",
                     help="fetch and build the interpreters that are missing (minutes)")


def pytest_generate_tests(metafunc):
    if "interpreter" not in metafunc.fixturenames:
        return
    arguments = ["-g"] if metafunc.config.getoption("--fetch") else ["-n"]
    lines = subprocess.run([str(SOURCE / "script" / "interpreters"), *arguments],
                           stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    # A missing interpreter is a skipped test that says why, not one test fewer.
    metafunc.parametrize("interpreter", [tuple(line.split(" ", 1)) for line in lines],
                         ids=[line.split()[0] for line in lines], scope="session")
