"""Reports in JSON are what docs/json.md says: no key more, none less, in its order.

Keys that a table of the page has and no capture of the tests shows would be untested: each value
other than null, and each word of a choice that can occur in this version, has to be met.
"""

import json
import pathlib
import re
import subprocess

import pytest

import capture_stored

HERE = pathlib.Path(__file__).parent
CAPTURES = HERE.parent / "golden" / "data"
NAMES = sorted(path.stem for path in CAPTURES.glob("*.bin"))
PAGE = HERE.parents[1] / "docs" / "json.md"
ONE_OBJECT = ["summary", "table", "tree", "stats", "timeline", "info"]

# What this version never says: later ones record it.
NOT_YET = {
    "PYTHON.allocator", "VIEW.filters", "state running", "mode aggregate",
    "type other", "op exec_failed", "why changed", "why damaged",
}


def read_page():
    """The page as {object: {key: value}}."""
    objects = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        name = part.splitlines()[0]
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", part, re.MULTILINE)
        assert rows, name
        objects[name] = dict(rows)
        assert len(objects[name]) == len(rows), name
    return objects


OBJECTS = read_page()
PLAIN_TYPES = {"integer": int, "number": (int, float), "text": str, "bool": bool}


class Checker:
    """Holds values against the page; `met` is what has been seen."""

    def __init__(self):
        self.met = set()

    def check_object(self, value, name, keys=None):
        keys = OBJECTS[name] if keys is None else keys
        assert list(value) == list(keys), name
        work = [(value[key], kind, f"{name}.{key}") for key, kind in keys.items()]
        while work:  # a tree is deeper than Python may call itself
            work.extend(self.check_value(*work.pop()))

    def check_value(self, value, kind, where):
        """Returns what is inside the value and still to be checked."""
        if kind.endswith(" or null"):
            if value is None:
                return []
            kind = kind[:-len(" or null")]
        assert value is not None, where
        if kind.startswith("one of "):
            assert value in kind[len("one of "):].split(", "), (where, value)
            self.met.add(f"{where.rpartition('.')[2]} {value}")
            return []
        if kind.startswith("["):
            assert isinstance(value, list), where
            if value:
                self.met.add(where)
            return [(item, kind[1:-1], where) for item in value]
        self.met.add(where)
        if kind in PLAIN_TYPES:
            assert isinstance(value, PLAIN_TYPES[kind]), (where, value)
            assert isinstance(value, bool) == (kind == "bool"), (where, value)
            return []
        assert isinstance(value, dict), where
        keys = OBJECTS[kind]
        if kind == "EXIT":
            assert len(value) == 1, where
            keys = {key: keys[key] for key in value}
        assert list(value) == list(keys), where
        return [(value[key], keys[key], f"{kind}.{key}") for key in keys]


def run(binary, *arguments):
    ended = subprocess.run([binary, *arguments], cwd=CAPTURES, stdin=subprocess.DEVNULL,
                           capture_output=True, check=False)
    assert ended.returncode in (0, 3), (arguments, ended)
    return ended.stdout


def check_report(checker, binary, kind, file, *options):
    text = run(binary, kind, file, "--json", *options).decode("utf-8")
    if kind == "dump":
        for line in text.splitlines():
            checker.check_object(json.loads(line), "dump")
        return
    keys = {**OBJECTS["REPORT"], **OBJECTS[kind]}
    if kind == "info":
        del keys["view"]
    report = json.loads(text)
    assert report["schema"] == 1 and report["report"] == kind
    checker.check_object(report, kind, keys)


@pytest.fixture(scope="module")
def everything(binary, tmp_path_factory):
    """A checker that has seen all reports of all captures."""
    checker = Checker()
    for name in NAMES:
        for kind in [*ONE_OBJECT, "dump"]:
            check_report(checker, binary, kind, f"{name}.bin")
    for view in "--leaks", "--allocated", "--temporary-allocations":
        check_report(checker, binary, "stats", "script.bin", view)
    check_report(checker, binary, "stats", "script.bin", "--at", "90ms")
    check_report(checker, binary, "stats", "script.bin", "--range", "20ms:90ms")
    moved = tmp_path_factory.mktemp("json") / "no_events.bin"
    moved.write_bytes(capture_stored.without_events((CAPTURES / "script.bin").read_bytes())[0])
    check_report(checker, binary, "stats", moved, "--at", "90ms")
    check_report(checker, binary, "tree", "script.bin", "--inverted")
    check_report(checker, binary, "info", "script.bin", "--verify")
    return checker


def test_every_report_is_what_the_page_says(everything):
    assert everything.met


def test_filters_are_named(binary):
    checker = Checker()
    check_report(checker, binary, "stats", "family.bin", "--process", "200", "--thread", "200")
    report = json.loads(run(binary, "stats", "family.bin", "--json", "--process", "200"))
    assert report["view"]["filters"] == ["process 200"]
    assert "VIEW.filters" in checker.met


def test_all_that_the_page_says_has_been_seen(everything):
    wanted = set()
    for name, keys in OBJECTS.items():
        for key, kind in keys.items():
            if name == "REPORT":
                continue
            if kind.startswith("one of "):
                words = kind[len("one of "):].removesuffix(" or null").split(", ")
                wanted |= {f"{key} {word}" for word in words}
            else:
                wanted.add(f"{name}.{key}")
    assert wanted - everything.met == NOT_YET


@pytest.mark.parametrize("kind", [*ONE_OBJECT, "dump", "flamegraph"])
def test_the_same_capture_gives_the_same_bytes(binary, kind):
    options = [] if kind == "flamegraph" else ["--json"]
    for name in NAMES:
        first, second = (run(binary, kind, f"{name}.bin", "-o", "-", *options) for _ in range(2))
        assert first == second and (first or name == "empty")
