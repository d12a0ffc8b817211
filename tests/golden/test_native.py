"""Native stacks: what the programs make of them is what the reader in Python does."""

import os
import pathlib
import subprocess

import pytest

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import captures

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
