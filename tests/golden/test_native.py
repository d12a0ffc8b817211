"""Native stacks: what the programs make of them is what the reader in Python does."""

import json
import os
import pathlib
import random
import re
import subprocess

import pytest

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import captures
import native_captures
from capture_native import EVAL, join

FOLDER = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("MEMTRACK_BUILD", FOLDER.parents[1] / "build")).resolve()
MEMTRACK = BUILD / "cli/memtrack"

pytestmark = pytest.mark.skipif(not MEMTRACK.exists(), reason=f"{MEMTRACK} is not built")


def run(*arguments):
    ended = subprocess.run([MEMTRACK, *arguments], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def of(name):
    return FOLDER / "data" / (name + ".bin")


@pytest.mark.parametrize("last", [[], ["--last=1ms"]])
@pytest.mark.parametrize("name", ["native", "compiled"])
def test_what_is_written_again_has_the_same_stacks(tmp_path, name, last):
    out = tmp_path / "again.bin"
    run("recompress", "-q", "-o", out, *last, of(name))
    before, after = fmt.read_capture(of(name).read_bytes()), fmt.read_capture(out.read_bytes())
    assert after.damage is None and len(before.native_nodes) > 10
    assert after.modules == before.modules and after.native_nodes == before.native_nodes
    assert after.stacks == before.stacks


SPECIAL = ["[unknown]", "[truncated]", "[interpreter ending]", "[signal handler]", "[unwinder gave up]"]


def name_of(capture, kind, node):
    """What a frame of a module that is nowhere is called."""
    if kind == "python":
        _, code, offset, _ = capture.nodes[node]
        return capture.codes[code]["name"] if code else SPECIAL[offset]
    _, module, offset, _ = capture.native_nodes[node]
    if module == 0:
        return SPECIAL[offset]
    names = {1: capture.modules[module]["path"].split("/")[-1], 2: "[vdso]", 3: "[generated code]"}
    return f"{names[capture.modules[module]['kind']]}+0x{offset:x}"


def is_hidden(capture, kind, node):
    code = capture.nodes[node][1] if kind == "python" else 0
    return code and capture.codes[code]["hidden"]


def check_joined(path):
    """Every event's stack is the one that the specification says. Returns how many were compared."""
    capture = fmt.read_capture(path.read_bytes())
    expected = []
    for stack in capture.stacks[1:]:
        frames = [frame for frame in join(capture, *stack[:2]) if not is_hidden(capture, *frame)]
        expected.append([name_of(capture, *frame) for frame in frames] or
                        (["[interpreter]"] if stack[0] else []))
    lines = run("dump", "--json", "--show-runtime", path).splitlines()
    made = [record for record in map(json.loads, lines) if record["op"] in ("alloc", "map", "fail")]
    wanted = []
    for section in capture.events:
        for at in range(0, len(section.payload), fmt.EVENT_BYTES):
            w0 = int.from_bytes(section.payload[at:at + 8], "little")
            if w0 >> 60 in (fmt.ALLOC, fmt.MAP, fmt.FAIL):
                wanted.append(expected[int.from_bytes(section.payload[at + 12:at + 16], "little") - 1])
    found = [[frame["function"] for frame in record["stack"]] for record in made]
    assert sorted(found) == sorted(wanted)
    return len(found)


@pytest.mark.parametrize("name", ["native", "compiled"])
def test_stacks_are_joined_as_is_specified(name):
    assert check_joined(of(name)) > 10


def any_capture(seed):
    """Stacks of both kinds by chance: loops and groups match or not."""
    chance = random.Random(seed)
    trace = native_captures.NativeTrace()
    trace.session("app.py")
    process = trace.process(5, arguments=["app.py"])
    native_captures.modules(trace)
    thread = process.thread(5, main=1)
    codes = [trace.code("/app.py", f"f{i}", i) for i in range(5)] + [0]
    codes.append(trace.code("<shim>", "shim", 1, hidden=True))
    pythons, natives = [0], [0]
    for _ in range(200):
        code = chance.choice(codes)
        offset = chance.randrange(4) if code == 0 else chance.randrange(8)
        pythons.append(trace.writer.node(chance.choice(pythons[-20:]), code, offset, entry=chance.random() < 0.4))
        module = chance.randrange(0, 7)
        offset = chance.randrange(5) if module == 0 else chance.randrange(1 << 39)
        natives.append(trace.writer.native_node(chance.choice(natives[-20:]), module, offset,
                                                EVAL * (chance.random() < 0.3) + chance.randrange(2)))
    for i in range(1000):
        stack = trace.stack(chance.choice(pythons), captures.MALLOC, 0, chance.choice(natives))
        thread.alloc(captures.HEAP + 64 * i, 10 + i, stack)
    process.end()
    return trace.finish()


@pytest.mark.parametrize("seed", range(6))
def test_any_stacks_are_joined_as_is_specified(tmp_path, seed):
    path = tmp_path / "any.bin"
    path.write_bytes(any_capture(seed))
    assert check_joined(path) == 1000


@pytest.mark.parametrize("kind", ["summary", "table", "tree", "stats", "dump", "flamegraph"])
@pytest.mark.parametrize("form", [[], ["--json"], ["--show-runtime"]])
def test_without_native_frames_a_report_is_that_of_python_stacks_alone(tmp_path, monkeypatch, kind, form):
    if kind == "flamegraph":
        form = [f"--output={tmp_path / 'page.html'}", "-f"] + [word for word in form if word != "--json"]
    said = []
    for is_plain in False, True:
        if is_plain:
            monkeypatch.setattr(native_captures.NativeTrace, "native", lambda *_: 0)
        path = tmp_path / "app.bin"
        path.write_bytes(native_captures.native())
        # What is said about names is not of the stacks.
        is_hiding = not is_plain or kind == "stats"
        out = run(kind, *form, *["--no-native"] * is_hiding, path)
        if kind == "flamegraph":
            out = re.sub(r"\"captureBytes\":\d+", "", (tmp_path / "page.html").read_text(encoding="utf-8"))
        said.append(out)
        if kind == "stats":  # what it says about the file
            said[-1] = [line for line in said[-1].splitlines() if "capture" not in line]
    assert said[0] == said[1]
