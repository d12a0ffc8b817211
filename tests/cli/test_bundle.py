"""`memtrack bundle`: a capture that was taken elsewhere has the same reports."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import captures
from test_recompress import JSON, REPORTS

DATA = pathlib.Path(__file__).parents[1] / "golden" / "data"
DONE, USAGE, UNREADABLE, NOT_WRITTEN = 0, 2, 3, 4

PROGRAM = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(size_t size) { return malloc(size); }
__attribute__((noinline)) static void *middle(size_t size) { void *p = inner(size); *(volatile char *)p = 1; return p; }
__attribute__((noinline)) void *outer(size_t size) { void *p = middle(size); *(volatile char *)p = 2; return p; }
int main(void)
{
    for (int i = 1; i < 200; i++) outer(1000 * i);
    return 0;
}
"""


@pytest.fixture(name="recorded")
def fixture_recorded(call, tmp_path):
    """Record a program and take it away: its capture is all that is left. Returns it, and its reports."""
    def record(*options, name="app.bin", symbols=False):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "app.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O2", "-g", "app.c", "-o", "app"], cwd=home, check=True)
        path = tmp_path / name
        if not symbols:
            options = "--no-symbols", *options
        ended = call("run", "-q", "-f", "--native", *options, "-o", path, home / "app")
        assert ended.returncode == DONE, ended
        return path, home

    return record


@pytest.fixture(name="has_lines", scope="session")
def fixture_has_lines(programs):
    return "libdw" in subprocess.run([programs("name_addresses"), "-l"], capture_output=True, text=True,
                                     check=True).stdout


def reports(call, path, has_events=True):
    out = {}
    for arguments in REPORTS + [[name, "--json"] for name in JSON]:
        if arguments[0] == "dump" and not has_events:
            continue
        ended = call(*arguments, path)
        assert ended.returncode == DONE, ended
        # What it says of the capture's own name and size.
        out[tuple(arguments)] = re.sub(r'"(captureBytes|capture_bytes|bytes_per_event|capture)":[^,}]*', "",
                                       re.sub(r"(?m)^capture .*$", "", ended.stdout.decode()))
    return out


@pytest.mark.parametrize("options", [[], ["--index=always"], ["--aggregate"]], ids=" ".join)
def test_a_capture_that_was_taken_elsewhere_has_the_same_reports(call, recorded, has_lines, options):
    path, home = recorded(*options)
    has_events = options != ["--aggregate"]
    before = reports(call, path, has_events)
    assert ("inner" in before["tree",] and "app.c:3" in before["tree",]) == has_lines
    ended = call("bundle", path)
    assert ended.returncode == DONE and re.search(rb"app.bin: has names of \d+ of \d+ places", ended.stderr)
    assert reports(call, path, has_events) == before
    (home / "app").unlink()
    assert reports(call, path, has_events) == before
    capture = fmt.read_capture(path.read_bytes())
    assert capture.clean and capture.damage is None
    assert any([place[0] for place in places] == ["inner", "middle"] or places[0][0] == "middle"
               for places in capture.symbols.values())
    assert call("info", "--verify", path).returncode == DONE


@pytest.mark.parametrize("options", [[], ["--index=always"], ["--aggregate"]], ids=" ".join)
def test_so_has_one_that_is_taken_as_it_is(call, recorded, has_lines, options):
    """A run stores the names at its end."""
    path, home = recorded(*options, symbols=True)
    has_events = options != ["--aggregate"]
    before = reports(call, path, has_events)
    (home / "app").unlink()
    assert reports(call, path, has_events) == before
    assert ("inner" in before["tree",] and "app.c:3" in before["tree",]) == has_lines
    capture = fmt.read_capture(path.read_bytes())
    assert capture.clean and capture.damage is None and capture.symbols


def test_without_its_names_it_has_other_reports(call, recorded):
    """So the test above can fail."""
    path, home = recorded()
    before = reports(call, path)
    shutil.rmtree(home)
    after = reports(call, path)
    assert after != before and "main" not in after["tree",] and "app+0x" in after["tree",]


def test_the_rest_of_the_capture_is_as_it_was(call, recorded):
    path, _ = recorded("--index=always")
    data = path.read_bytes()
    before = fmt.read_capture(data)
    assert call("bundle", "-q", path, "-o", path.with_name("other.bin")).stderr == b""
    assert path.read_bytes() == data
    after = fmt.read_capture(path.with_name("other.bin").read_bytes())
    assert after.symbols and not before.symbols and before.model and after.clean
    for name in ("session", "processes", "threads", "modules", "native_nodes", "stacks", "bounds", "summary",
                 "ticks"):
        assert getattr(after, name) == getattr(before, name), name
    assert [part.payload for part in after.events + after.model] == [part.payload for part in before.events + before.model]


def test_what_it_has_is_kept(call, recorded):
    path, home = recorded()
    assert call("bundle", path).returncode == DONE
    data = path.read_bytes()
    shutil.rmtree(home)
    assert call("bundle", path).returncode == DONE
    assert path.read_bytes() == data, "nothing new is known"
    small = path.with_name("small.bin")
    assert call("recompress", path, "-o", small).returncode == DONE
    assert fmt.read_capture(small.read_bytes()).symbols == fmt.read_capture(data).symbols


@pytest.mark.parametrize("name", ["bundled", "compiled", "script", "empty", "stored"])
def test_captures_without_files_are_copied(call, tmp_path, name):
    path, copy = tmp_path / "app.bin", tmp_path / "copy.bin"
    path.write_bytes((DATA / f"{name}.bin").read_bytes())
    ended = call("bundle", path, "-o", copy)
    assert ended.returncode == DONE
    has_native = name in ("bundled", "compiled")
    assert (b"there are no native frames" in ended.stderr) != has_native
    assert reports(call, copy) == reports(call, path)
    before, after = (fmt.read_capture(file.read_bytes()) for file in (path, copy))
    assert after.clean and after.symbols == before.symbols
    assert call("bundle", copy, "-f", "-o", tmp_path / "again.bin").returncode == DONE
    assert (tmp_path / "again.bin").read_bytes() == copy.read_bytes()


def test_the_capture_is_replaced_as_a_file(call, recorded, tmp_path):
    path, _ = recorded()
    path.chmod(0o640)
    link = tmp_path / "link.bin"
    link.symlink_to(path.name)
    data = path.read_bytes()
    assert call("bundle", link).returncode == DONE
    assert link.is_symlink() and path.read_bytes() != data
    assert path.stat().st_mode & 0o7777 == 0o640
    assert {entry.name for entry in tmp_path.iterdir()} == {"app.bin", "link.bin", "home"}


def test_what_is_not_whole_is_refused_and_left_alone(call, tmp_path):
    path = tmp_path / "app.bin"
    good = (DATA / "bundled.bin").read_bytes()
    later = fmt.superblock(good[16:32], 5, minor=99) + good[64:]
    for data in (good[:-40], good[:len(good) // 2], b"nothing", captures.cut(), later):
        path.write_bytes(data)
        assert call("bundle", path).returncode == UNREADABLE
        assert call("bundle", path, "-o", tmp_path / "other.bin").returncode == UNREADABLE
        assert path.read_bytes() == data
    assert [entry.name for entry in tmp_path.iterdir()] == ["app.bin"]


def test_the_output_is_as_that_of_a_report(call, tmp_path):
    path, copy = tmp_path / "app.bin", tmp_path / "copy.bin"
    path.write_bytes((DATA / "bundled.bin").read_bytes())
    copy.write_text("precious")
    ended = call("bundle", path, "-o", copy)
    assert ended.returncode == NOT_WRITTEN and b"use -f to replace it" in ended.stderr
    assert copy.read_text() == "precious"
    assert call("bundle", path, "-f", "-o", copy).returncode == DONE
    piped = call("bundle", path, "-o", "-")
    assert piped.returncode == DONE and piped.stderr == b"" and piped.stdout == copy.read_bytes()
    full = call("bundle", path, "-f", "-o", "/dev/full")
    assert full.returncode == NOT_WRITTEN and b"/dev/full: cannot be written" in full.stderr
    for arguments, said in [([], b"name one capture"), ([path, path], b"only one capture")]:
        ended = call("bundle", *arguments)
        assert ended.returncode == USAGE and said in ended.stderr
    assert call("bundle", tmp_path / "none").returncode == UNREADABLE


def test_modules_of_another_file_have_no_names(call, recorded):
    """The program was built again: what the new one says of the old one's addresses is wrong."""
    path, home = recorded()
    (home / "app.c").write_text(PROGRAM.replace("inner", "changed"))
    subprocess.run(["gcc", "-O1", "-g", "app.c", "-o", "app"], cwd=home, check=True)
    said = json.loads(call("tree", "--json", path).stdout)
    assert "changed" not in json.dumps(said) and "app+0x" in json.dumps(said)
    assert os.path.exists(home / "app")


def test_lines_that_come_later_are_shown(call, has_lines, tmp_path):
    """Names without lines are stored; then the debug file comes, and goes again."""
    if not has_lines:
        pytest.skip("built without libdw")
    home, path, debug = tmp_path / "home", tmp_path / "app.bin", tmp_path / "app.debug"
    home.mkdir()
    (home / "app.c").write_text(PROGRAM)
    for words in (["gcc", "-O2", "-g", "app.c", "-o", "app"], ["objcopy", "--only-keep-debug", "app", debug],
                  ["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", "app"]):
        subprocess.run(words, cwd=home, check=True)
    assert call("run", "-q", "--native", "--no-symbols", "-o", path, home / "app").returncode == DONE
    assert call("bundle", path).returncode == DONE

    def tree():
        return call("tree", path).stdout.decode()

    before = tree()
    assert "main" in before and "app.c" not in before
    debug.rename(home / "app.debug")
    assert "app.c:3" in tree() and "inner" in tree()
    (home / "app.debug").rename(debug)
    assert tree() == before
    shutil.rmtree(home)
    assert tree() == before
