"""What real programs' events take in a capture, and the coders that could write them.

Each program is recorded once with every malloc; bench_coder then lets the coders take turns on the
events of that capture.
"""
import json
import pathlib
import re
import shutil
import statistics
import subprocess

import measure
from figures import Row

JSON = """
import json
data = {{str(i): [i, float(i), str(i) * 20, {{"a": None}}] for i in range(3000)}}
for _ in range({count}):
    json.loads(json.dumps(data))
"""

SQLITE = """
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table t(a integer primary key, b text, c real)")
db.executemany("insert into t values(?,?,?)",
               ((i, "name%d" % (i * 7919 % 10007), i / 3) for i in range(20000)))
for k in range({count}):
    db.execute("select b, sum(c) from t where a % ? = 0 group by b order by 2 limit 10",
               (k + 1,)).fetchall()
    db.execute("update t set c = c + 1 where a between ? and ?", (k * 100, k * 100 + 300))
"""

COMPILEALL = """
import asyncio, compileall, email, json, os, shutil, tempfile
for module in (json, email, asyncio)[:{count}]:
    with tempfile.TemporaryDirectory() as folder:
        tree = shutil.copytree(os.path.dirname(module.__file__), os.path.join(folder, "tree"),
                               ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(tree, quiet=2, force=True)
"""

NUMPY = """
import numpy
random = numpy.random.default_rng(1)
table = random.normal(size=(300, 40))
for i in range({count}):
    rows = table[random.integers(0, 300, size=50)]
    numpy.sort((rows * 2 + 1).sum(axis=0))[:5].mean()
    if i % 10 == 0:
        numpy.linalg.lstsq(rows, rows.sum(axis=1), rcond=None)
"""

CXX = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
int main()
{
    std::map<std::string, std::vector<int>> lists;
    std::unordered_map<std::string, std::function<int(int)>> functions;
    std::vector<std::pair<std::string, int>> sizes;
    lists["a"].push_back(1);
    functions["x"] = [](int i) { return i + 1; };
    for (auto &list : lists)
        sizes.emplace_back(list.first, functions["x"](static_cast<int>(list.second.size())));
    std::sort(sizes.begin(), sizes.end());
    for (auto &size : sizes)
        std::cout << size.first << size.second << '\\n';
}
"""

PYTHON = (("json", JSON, 12), ("sqlite3", SQLITE, 60), ("compileall", COMPILEALL, 3),
          ("numpy", NUMPY, 3000))
MOST_MEDIAN, MOST_BEFORE_LZ4 = 1.0, 2.5


def commands(setting):
    """Yield (name, argv) of the programs that can run here."""
    python = setting.pythons[0]
    for name, text, count in PYTHON:
        script = setting.folder / f"stream_{name}.py"
        script.write_text(text.format(count=max(1, round(count * setting.share))), encoding="utf-8")
        if name != "numpy" or subprocess.run([python, "-c", "import numpy"], check=False,
                                             stderr=subprocess.DEVNULL).returncode == 0:
            yield name, [python, script]
    source = setting.folder / "stream.cc"
    source.write_text(CXX, encoding="utf-8")
    if shutil.which("g++"):
        yield "g++", ["g++", "-c", "-O1", "-std=c++17", source, "-o", setting.folder / "stream.o"]


def record(setting, argv):
    """Record a program. Returns (bytes of the capture, of the same recompressed), an event each."""
    measure.run_once(setting.memtrack.wrap(argv), {"PYTHONMALLOC": "malloc"})
    capture = setting.memtrack.capture
    archive = setting.folder / "archive.bin"
    subprocess.run([setting.memtrack.binary, "recompress", "-q", "-f", "-o", archive, capture],
                   check=True)
    info = json.loads(subprocess.run([setting.memtrack.binary, "info", "--json", capture],
                                     check=True, stdout=subprocess.PIPE).stdout)
    events = info["counts"]["events"]
    return capture.stat().st_size / events, archive.stat().st_size / events


def coders(setting):
    """What bench_coder says of the capture made last: {coder: {word: number}}."""
    said = subprocess.run([pathlib.Path(setting.loops).with_name("bench_coder"),
                           setting.memtrack.capture, "4096", str(setting.rounds)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[0]: {word: float(number)
                              for word, number in re.findall(r"(\w+) ([\d.]+)", line)}
            for line in said.splitlines()[1:]}


def streams(setting):
    """Bytes of an event in the file, before LZ4, recompressed; times of the coders."""
    on_disk, before = [], []
    for name, argv in commands(setting):
        size, archive = record(setting, argv)
        made = coders(setting)
        compact, planes = made["compact"], made["planes"]
        on_disk.append(size)
        before.append(compact["raw"])
        yield Row(f"bytes of an event in the capture, {name}", "",
                  f"{size:.2f}, before LZ4 {compact['raw']:.2f}, recompressed {archive:.2f}")
        yield Row(f"coder and LZ4, {name}: packing, unpacking an event", "",
                  f"{compact['encode'] + compact['pack']:.1f} ns, {compact['decode']:.1f} ns; "
                  f"planes {planes['encode'] + planes['pack']:.1f} ns, {planes['decode']:.1f} ns, "
                  f"{planes['packed']:.2f} bytes")
    median, most = statistics.median(on_disk), max(before)
    yield Row("bytes of an event in the capture, median of these", "", f"{median:.2f}",
              f"{MOST_MEDIAN}", round(median, 2) <= MOST_MEDIAN)
    yield Row("bytes of an event before LZ4, largest of these", "", f"{most:.2f}",
              f"{MOST_BEFORE_LZ4}", round(most, 2) <= MOST_BEFORE_LZ4)
