"""The page's own options: how large it may be, and what of the source goes into it."""
import json
import pathlib

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "golden" / "data"
SCRIPT = DATA / "script.bin"


@pytest.fixture
def page(call, tmp_path):
    """Write a page; return its size and its facts."""
    def run(*options, capture=SCRIPT):
        path = tmp_path / "page.html"
        ended = call("flamegraph", "-f", "-o", path, *options, capture)
        assert ended.returncode == 0, ended.stderr
        text = path.read_text()
        return len(text.encode()), json.loads(text.split('id="data-meta">')[1].split("</script>")[0])

    return run


def recorded(call, tmp_path, code):
    program = tmp_path / "program.py"
    program.write_text(code)
    capture = tmp_path / "out.bin"
    assert call("run", "-q", "-o", capture, program).returncode == 0
    return capture


# Some 20000 stacks three functions deep, each with a block that lives for its own time.
WIDE = """
import itertools
kept, numbers = [], itertools.count()
exec("\\n".join(f"def f{i}(rest): return call(rest)" for i in range(90)))
functions = [globals()[f"f{i}"] for i in range(90)]
def call(rest):
    if rest > 1:
        return functions[rest % 90](rest // 90 or 1)
    kept.append(bytearray(600 + next(numbers) % 7000))
    if len(kept) > 3000:
        del kept[next(numbers) * 7 % 3000]
for i in range(90 * 90, 90 * 90 * 90, 6):
    call(i)
"""


def test_a_page_is_as_small_as_is_asked_for_and_says_what_that_costs(call, page, tmp_path):
    capture = recorded(call, tmp_path, WIDE)
    full_bytes, full = page("--full", capture=capture)
    assert full["folded"]["partsPerMillion"] == 0 and not full["folded"]["merged"]
    assert full["folded"]["joinedBytes"] == 0 and full["folded"]["shares"] == [0, 0, 0, 0]
    assert full_bytes > 600_000
    small_bytes, small = page("--max-size=512K", capture=capture)
    assert small_bytes <= 512 * 1024 < full_bytes
    assert small["folded"]["stacks"] > 0
    assert any(small["folded"]["shares"])
    assert small["totals"] == full["totals"]
    usual_bytes, _ = page(capture=capture)
    assert usual_bytes <= 2 << 20


@pytest.mark.parametrize("size", ["0", "100K", "2 GiB", "large"])
def test_a_size_that_no_page_can_have_is_refused(call, size):
    ended = call("flamegraph", "-o", "-", f"--max-size={size}", SCRIPT)
    assert ended.returncode == 2 and b"--max-size" in ended.stderr and ended.stdout == b""


def test_source_is_put_in_as_far_as_is_asked_for(call, page, tmp_path):
    capture = recorded(call, tmp_path, "import sys\n\nkept = bytearray(2000000)\n\n# the end\n")
    for options, lines, files in [([], True, True), (["--source=context"], True, True),
                                  (["--source=lines"], True, False),
                                  (["--source=none"], False, False)]:
        _, facts = page(*options, capture=capture)
        assert (facts["folded"]["sourceLines"] > 0) == lines
        assert (facts["counts"]["sources"] > 0) == files
