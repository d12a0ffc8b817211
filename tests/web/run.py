#!/usr/bin/env python3
"""Run the page's tests in node, or say why not (exit code 77).

usage: run.py modules|types|browser MAKE_PAGE FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LEAST_NODE = 18
WEB = pathlib.Path(__file__).resolve().parents[2] / "reporters" / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What make_page is asked for: so many stacks and blocks. The first page is exact, the second folded.
PAGES = {"exact": ("3000", "60000"), "folded": ("12000", "150000"), "empty": ("0", "0")}


def skip(why):
    """End without having tested; in CI, which has everything, that is a failure."""
    is_ci = os.environ.get("CI") == "true"
    print("failed, as CI must not skip it:" if is_ci else "skipped:", why)
    sys.exit(1 if is_ci else SKIPPED)


def find_node():
    """Return node's path."""
    node = shutil.which("node")
    if node is None:
        skip("node is not installed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < LEAST_NODE:
        skip(f"node {LEAST_NODE} or later is needed, this is {version.strip()}")
    return node


def need_package(name):
    """Return the folder of a development package."""
    folder = WEB / "node_modules" / name
    if not folder.is_dir():
        skip(f"{name} is not installed: npm ci in reporters/web")
    return folder


def find_browser():
    """Return a browser's path."""
    browser = os.environ.get("MEMTRACK_BROWSER")
    for name in BROWSERS:
        browser = browser or shutil.which(name)
    if browser is None:
        skip("no chromium is installed, and MEMTRACK_BROWSER names none")
    return browser


def make_page(program, folder, name):
    """Write a page and what it must show; return the environment that names them."""
    page, expected = folder / f"{name}.html", folder / f"{name}.json"
    subprocess.run([program, *PAGES[name], page, expected], check=True)
    return {"MEMTRACK_PAGE": str(page), "MEMTRACK_EXPECTED": str(expected),
            "MEMTRACK_PAGE_KIND": name}


def run_node(node, tests, environment):
    """Run test files; return whether all passed."""
    command = [node, "--test", "--test-reporter=spec", *sorted(map(str, tests))]
    return subprocess.run(command, env={**os.environ, **environment}, cwd=WEB, check=False).returncode == 0


def test_modules(program, folder):
    """The modules alone, and on pages that the reporter wrote."""
    node = find_node()
    passed = True
    for name in ("exact", "folded"):
        print(f"on the page '{name}'", flush=True)
        passed &= run_node(node, WEB.glob("tests/*.test.js"), make_page(program, folder, name))
    first = (folder / "exact.html").read_bytes()
    make_page(program, folder, "exact")
    if first != (folder / "exact.html").read_bytes():
        print("the same capture made two different pages")
        passed = False
    return passed


def test_types(_program, _folder):
    """The types that the modules' comments state."""
    node = find_node()
    compiler = need_package("typescript") / "bin" / "tsc"
    return subprocess.run([node, compiler, "-p", WEB], check=False).returncode == 0


def test_browser(program, folder):
    """The page in a browser."""
    node = find_node()
    need_package("puppeteer-core")
    need_package("axe-core")
    environment = {"MEMTRACK_BROWSER": find_browser()}
    environment["MEMTRACK_EMPTY_PAGE"] = make_page(program, folder, "empty")["MEMTRACK_PAGE"]
    environment.update(make_page(program, folder, "exact"))
    return run_node(node, WEB.glob("tests/browser/*.test.js"), environment)


def main(arguments):
    """Run one of the tests; return the exit code."""
    tests = {"modules": test_modules, "types": test_types, "browser": test_browser}
    with tempfile.TemporaryDirectory(prefix="memtrack-page-") as folder:
        return 0 if tests[arguments[0]](arguments[1], pathlib.Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
