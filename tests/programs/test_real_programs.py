"""Programs that people have: the same output and exit code as without us, and a sound capture."""
import os
import subprocess

import pytest

import interpreters
import tracked


def test_pip_list(same_as_plain, any_python):
    if tracked.finish([any_python.path, "-m", "pip", "--version"]).returncode != 0:
        pytest.skip("this interpreter has no pip")
    capture, *_ = same_as_plain(any_python.path, "-m", "pip", "list",
                                env={"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    assert any("<module>" in tracked.names(row) for row in capture.rows())


JSON_AND_SQL = """
import collections, json, re, sqlite3, zlib
table = sqlite3.connect(":memory:")
table.execute("create table t (a integer primary key, b text, c real)")
table.executemany("insert into t values (?, ?, ?)",
                  ((i, str(i) * (i % 50), i / 3) for i in range(20000)))
table.execute("create index i on t (b)")
rows = table.execute("select b, sum(c), count(*) from t group by b order by b").fetchall()
text = json.dumps(rows)
words = collections.Counter(re.findall(r"[0-9]+", text))
assert json.loads(text) == [list(row) for row in rows]
print(len(text), zlib.crc32(text.encode()), words.most_common(3))
table.close()
"""


def test_json_and_sqlite(same_as_plain, python, tmp_path):
    script = tmp_path / "json_and_sql.py"
    script.write_text(JSON_AND_SQL)
    if tracked.finish([python.path, "-c", "import sqlite3, zlib"]).returncode != 0:
        pytest.skip("this interpreter has no sqlite3")
    same_as_plain(python.path, script)


@pytest.mark.parametrize("allocator", ["malloc", "debug"])
def test_json_and_sqlite_with_every_block_seen(same_as_plain, any_python, tmp_path, allocator):
    script = tmp_path / "json_and_sql.py"
    script.write_text(JSON_AND_SQL)
    same_as_plain(any_python.path, script, env={"PYTHONMALLOC": allocator})


NUMPY = """
import numpy
a = numpy.arange(1_000_000, dtype=float)
b = numpy.sin(a).reshape(1000, 1000)
c = b @ b.T
print(c.shape, round(float(abs(c).sum()), 1), round(float(numpy.linalg.norm(b[:50, :50])), 6))
print(numpy.fft.fft(a[:4096]).real.argmax(), float(numpy.sort(b, axis=0)[500, 500]))
"""


def test_numpy(same_as_plain, packages, tmp_path):
    python = packages("numpy")
    script = tmp_path / "arrays.py"
    script.write_text(NUMPY)
    capture, *_ = same_as_plain(python, script)
    arrays = [row for row in capture.rows("--allocated") if row["bytes"] >= 8_000_000
              and any(frame["file"] == str(script) for frame in row["stack"])]
    assert arrays, "no array of the script's is in the table"


PANDAS = """
import numpy, pandas
frame = pandas.DataFrame({"key": numpy.arange(50000) % 97, "value": numpy.arange(50000.0)})
print(frame.groupby("key").value.agg(["sum", "mean", "max"]).describe().to_string())
print(frame.merge(frame.head(500), on="key").shape, frame.to_csv().count("\\n"))
"""


def test_pandas(same_as_plain, packages, tmp_path):
    python = packages("pandas")
    script = tmp_path / "frames.py"
    script.write_text(PANDAS)
    same_as_plain(python, script)


def test_pytest_of_a_real_package(same_as_plain, packages):
    packages("numpy")
    packages("hypothesis")
    python = packages("pytest")
    same_as_plain(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs",
                  "numpy.fft.tests.test_helper", "numpy.linalg.tests.test_deprecations")


def test_tests_of_the_interpreter_itself(memtrack, tmp_path):
    """What forks, signals, threads and maps must do, by those who made them."""
    wanted = ["test_fork1", "test_popen", "test_thread", "test_mmap", "test_resource", "test_gc"]
    having = [python for python in interpreters.found() if not python.is_debug and tracked.finish(
        [python.path, "-c", "import test.regrtest, " + ", ".join(f"test.{name}" for name in wanted)]
    ).returncode == 0]
    if not having:
        pytest.skip("no interpreter here has its tests")
    argv = [having[-1].path, "-m", "test", *wanted]
    plain = tracked.finish(argv, cwd=tmp_path, timeout=600)
    if plain.returncode != 0:
        pytest.skip(f"they do not pass without us: {plain.stdout[-300:]}")
    ended = memtrack.run(*argv, cwd=tmp_path, timeout=600)
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0


C_SOURCE = """
#include <stdio.h>
#define F(n) static double f##n(double x, int k) { double s = n; for (int i = 0; i < k; i++) \\
    s = s * x + i; return k % 2 ? s : f_of(x, k, s); }
static double f_of(double x, int k, double s) { return x * k - s; }
F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10)
int main(void) { double s = 0; for (int i = 0; i < 100; i++) s += f1(i, i) + f2(i, i) + f3(s, i)
    + f4(s, 2) + f5(s, 3) + f6(i, 4) + f7(i, 5) + f8(i, 6) + f9(i, 7) + f10(i, 8);
    printf("%.3f\\n", s > 1e9 ? 1.0 : 0.5); return 0; }
"""


def write_source(folder):
    (folder / "source.c").write_text(C_SOURCE)


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_compiler(same_as_plain, have, compiler):
    _, plain, seen = same_as_plain(have(compiler), "-O2", "-c", "source.c", "-o", "out.o",
                                   prepare=write_source)
    assert (plain / "out.o").read_bytes() == (seen / "out.o").read_bytes()


def test_compile_link_and_run_in_one_shell(same_as_plain, have):
    have("gcc")
    capture, *_ = same_as_plain("sh", "-c", "gcc -O1 source.c -o program && ./program",
                                prepare=write_source)
    commands = " ".join(process["command"] for process in capture.stats()["processes"])
    assert "cc1" in commands and "program" in commands


GIT = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
DATES = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}


def make_repository(folder):
    """Twenty commits on one file, the same each time."""
    def git(*arguments):
        subprocess.run(["git", *GIT, *arguments], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, **DATES})

    git("init", "-q")
    for number in range(20):
        text = "".join(f"line {line} {line * number}\n" for line in range(500))
        (folder / "file.txt").write_text(text)
        git("add", "file.txt")
        git("commit", "-q", "-m", f"Change {number}")


@pytest.mark.parametrize("arguments", [["log", "-p", "--stat"], ["gc", "-q"],
                                       ["blame", "file.txt"]], ids=["log", "gc", "blame"])
def test_git(same_as_plain, have, arguments):
    same_as_plain(have("git"), "--no-pager", *arguments, prepare=make_repository)


PERL = """
my %seen; my @words;
for my $i (1 .. 60000) { my $word = "w" . ($i * 7919 % 5003); $seen{$word}++; push @words, $word; }
my $text = join " ", @words; $text =~ s/w(\\d)/<$1>/g;
print scalar(keys %seen), " ", length($text), " ", (sort { $seen{$b} <=> $seen{$a} || $a cmp $b }
    keys %seen)[0], "\\n"; exit 3;
"""


def test_perl(same_as_plain, have):
    same_as_plain(have("perl"), "-e", PERL, expect=3)


NODE = """
const zlib = require("zlib");
let objects = []; for (let i = 0; i < 50000; i++) objects.push({ i, text: "x".repeat(i % 100) });
const text = JSON.stringify(objects); const packed = zlib.gzipSync(text);
console.log(text.length, zlib.gunzipSync(packed).length, Buffer.alloc(1e6).length);
setTimeout(() => process.exit(7), 10);
"""


def test_node(same_as_plain, have):
    same_as_plain(have("node"), "-e", NODE, expect=7)


def test_sqlite_shell(same_as_plain, have):
    same_as_plain(have("sqlite3"), ":memory:", """
        create table t (a, b); with recursive n(i) as (select 1 union all select i + 1 from n
        where i < 50000) insert into t select i, printf('%d', i * 7919 % 10007) from n;
        create index i on t (b); select b, count(*) from t group by b order by 2 desc, 1 limit 5;
        """)


def test_threads_and_pipes_of_the_shell(same_as_plain, have):
    have("sort")
    same_as_plain("bash", "-c", "seq 300000 | rev | sort --parallel=2 -S 2M | tail -3; "
                                "ls /nonexistent; echo $? >&2; exit 5", expect=5)


def test_archiver(same_as_plain, have):
    def prepare(folder):
        for number in range(20):
            (folder / f"file{number}").write_bytes(bytes(range(256)) * 500)

    have("xz")
    _, plain, seen = same_as_plain("tar", "-cf", "out.tar", "--sort=name", "--mtime=@0",
                                   "--use-compress-program=xz -T2", *(f"file{n}" for n in range(20)),
                                   prepare=prepare)
    assert (plain / "out.tar").read_bytes() == (seen / "out.tar").read_bytes()
