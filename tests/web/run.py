#!/usr/bin/env python3
"""Run the page's tests in node, or say why not (exit code 77).

usage: run.py modules|types|browser|ranges MAKE_PAGE MEMTRACK
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LEAST_NODE = 18
TOP = pathlib.Path(__file__).resolve().parents[2]
WEB = TOP / "reporters" / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What make_page is asked for: so many stacks and blocks. Of the second stacks are folded, of the third
# blocks are joined too, the fourth is as large as the second and exact.
PAGES = {"exact": ("3000", "60000"), "folded": ("12000", "150000"), "joined": ("3000", "800000"),
         "full": ("12000", "150000"), "empty": ("0", "0")}


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
    more = ["full"] if name == "full" else []
    subprocess.run([program, *PAGES[name], page, expected, *more], check=True)
    return {"MEMTRACK_PAGE": str(page), "MEMTRACK_EXPECTED": str(expected),
            "MEMTRACK_PAGE_KIND": name}


def run_node(node, tests, environment):
    """Run test files; return whether all passed."""
    command = [node, "--test", "--test-reporter=spec", *sorted(map(str, tests))]
    return subprocess.run(command, env={**os.environ, **environment}, cwd=WEB, check=False).returncode == 0


def test_modules(program, folder, _memtrack):
    """The modules alone, and on pages that the reporter wrote."""
    node = find_node()
    passed = True
    for name in ("exact", "folded", "joined", "full"):
        print(f"on the page '{name}'", flush=True)
        passed &= run_node(node, WEB.glob("tests/*.test.js"), make_page(program, folder, name))
    first = (folder / "exact.html").read_bytes()
    make_page(program, folder, "exact")
    if first != (folder / "exact.html").read_bytes():
        print("the same capture made two different pages")
        passed = False
    return passed


# Blocks that come, stay and go at other lines; two threads.
RECORDED = """
import threading, time
kept = []
def work(count):
    for i in range(count):
        kept.append(bytearray(1000 + 37 * i))
        spare = [bytearray(5000) for _ in range(i % 9)]
        if i % 3 == 0:
            del kept[len(kept) // 2]
        time.sleep(0.001)
other = threading.Thread(target=work, args=(150,))
other.start()
work(200)
other.join()
"""


def test_ranges(_program, folder, memtrack):
    """Ranges of time, against what the text reports say."""
    node = find_node()
    captures = [folder / name for name in ("script.bin", "words.bin", "stored.bin")]
    for capture in captures[:2]:
        shutil.copy(TOP / "tests" / "golden" / "data" / capture.name, capture)
    # Without events both tell the same instants.
    subprocess.run([memtrack, "run", "-q", "--aggregate", "-o", captures[2], "-c", RECORDED],
                   check=True)
    environment = {"MEMTRACK_BINARY": str(memtrack), "MEMTRACK_CAPTURES": " ".join(map(str, captures))}
    return run_node(node, [WEB / "tests" / "ranges.test.js"], environment)


def test_types(_program, _folder, _memtrack):
    """The types that the modules' comments state."""
    node = find_node()
    compiler = need_package("typescript") / "bin" / "tsc"
    return subprocess.run([node, compiler, "-p", WEB], check=False).returncode == 0


def test_browser(program, folder, memtrack):
    """The page in a browser."""
    node = find_node()
    need_package("puppeteer-core")
    need_package("axe-core")
    environment = {"MEMTRACK_BROWSER": find_browser(), "MEMTRACK_BINARY": str(memtrack),
                   "MEMTRACK_DATA": str(TOP / "tests" / "golden" / "data"),
                   "MEMTRACK_FOLDER": str(folder)}
    environment["MEMTRACK_EMPTY_PAGE"] = make_page(program, folder, "empty")["MEMTRACK_PAGE"]
    environment.update(make_page(program, folder, "exact"))
    return run_node(node, WEB.glob("tests/browser/*.test.js"), environment)


def main(arguments):
    """Run one of the tests; return the exit code."""
    tests = {"modules": test_modules, "types": test_types, "browser": test_browser,
             "ranges": test_ranges}
    with tempfile.TemporaryDirectory(prefix="memtrack-page-") as folder:
        programs = [pathlib.Path(program).resolve() for program in arguments[1:]]
        return 0 if tests[arguments[0]](programs[0], pathlib.Path(folder), programs[1]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
