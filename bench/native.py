"""Native stacks: what they cost, beside memray and heaptrack, which always walks them."""
import dataclasses
import functools
import pathlib
import shutil
import statistics
import subprocess

import figures
import measure
import tools
import workloads

NATIVE = "--native"  # memray calls it the same
PAIRS_MOST_NS, CHEAPER = 90, 4  # a pair of malloc and free; than heaptrack
PROGRAM_MOST = 1.2

CPLUSPLUS = """
#include <map>
#include <regex>
#include <string>
int main()
{
    std::map<std::string, int> counts;
    std::regex word("a(b|c)*d");
    counts["x"] = std::regex_search("abcbd", word);
    return counts["x"] == 0;
}
"""
SQL = """
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 150000)
insert into t select x, hex(randomblob(20)) from c;
create index i on t(b);
select count(*), max(length(b)) from t where b > '8';
"""
PERL = "my %h; for (1 .. 400000) { $h{$_ % 50000} .= \"x\" x ($_ % 40) } print scalar keys %h;"


def _python(setting):
    """CPU of a loop of bytearray(1000), as a ratio to the plain run."""
    workload = next(row for row in workloads.ALL if row.name.startswith("bytearray(1000)"))
    script = setting.folder / "native.py"
    script.write_text(workload.text(setting.share), encoding="utf-8")
    for python in setting.pythons:
        version = ".".join(map(str, tools.python_facts(python)[0]))
        for what, options, most in (("", (NATIVE,), 1.7),
                                    (", Python allocators",
                                     (NATIVE, "--trace-python-allocators"), 2.6)):
            samples = measure.in_turns(
                figures.under_tools(setting, [setting.memray_of(python)], [python, str(script)],
                                    dict(workload.env), options), setting.rounds)
            ratio = figures.ratio_of(samples, "memtrack")
            yield figures.Row(f"{workload.name}, Python {version}, native{what}",
                              f"{measure.median(samples['plain'], 'program_cpu'):.2f} s",
                              figures.as_times(ratio), f"{most}", round(ratio, 2) <= most,
                              figures.as_times(figures.ratio_of(samples, "memtrack", "tree_cpu")),
                              figures.as_times(figures.ratio_of(samples, "memray")))


def _pairs(setting):
    """Nanoseconds that malloc and free of one of 256 stacks of depth 16 take more."""
    stacks = pathlib.Path(setting.loops).parent / "bench_stacks"
    ours = dataclasses.replace(setting, memtrack=setting.memtrack.having("memtrack", NATIVE))
    raw = setting.heaptrack and dataclasses.replace(setting.heaptrack, options=("--raw",))
    for threads in (1, 2, 4):
        pairs = max(1, int(4_000_000 * setting.share / threads))
        samples = measure.in_turns(
            figures.under_tools(ours, [raw], [str(stacks), threads, pairs]), setting.rounds)
        plain = statistics.median(map(_ns, samples["plain"]))
        added = statistics.median(map(_ns, samples["memtrack"])) - plain
        beside = statistics.median(map(_ns, samples["heaptrack"])) - plain if raw else None
        yield figures.Row(f"malloc and free, 256 stacks of depth 16, {threads} "
                          f"thread{'s' * (threads > 1)}: ns added to a pair", f"{plain:.1f} ns",
                          f"{added:+.0f} ns", f"{PAIRS_MOST_NS} ns, 1/{CHEAPER} of heaptrack",
                          added <= PAIRS_MOST_NS and
                          (beside is None or added * CHEAPER <= beside),
                          figures.as_times(figures.ratio_of(samples, "memtrack", "tree_cpu")),
                          heaptrack="" if beside is None else f"{beside:+.0f} ns")


def _ns(sample):
    return sample.program_cpu * 1e9 / sample.words["events"]


def _compiler():
    if not shutil.which("g++"):
        return None
    found = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.strip()
    return found if pathlib.Path(found).is_absolute() else None


def _programs(setting):
    """CPU of whole programs, as a ratio to the plain run."""
    child = str(pathlib.Path(setting.loops).parent / "bench_child")
    folder = setting.folder
    (folder / "regex.cc").write_text(CPLUSPLUS, encoding="utf-8")
    compiler = _compiler()
    programs = []
    if compiler:
        subprocess.run(["g++", "-E", folder / "regex.cc", "-o", folder / "regex.ii"], check=True)
        programs.append(("a C++ compile", [compiler, "-quiet", "-O1", str(folder / "regex.ii"),
                                           "-o", "/dev/null"]))
    if shutil.which("sqlite3"):
        programs.append(("sqlite3", ["sqlite3", ":memory:", SQL]))
    if shutil.which("perl"):
        programs.append(("perl", ["perl", "-e", PERL]))
    ours = dataclasses.replace(setting, memtrack=setting.memtrack.having("memtrack", NATIVE))
    for name, argv in programs:
        commands = figures.under_tools(ours, [], [child, *argv])
        if setting.heaptrack:  # it does not follow a fork: what it costs in all is told
            raw = dataclasses.replace(setting.heaptrack, options=("--raw",))
            commands["heaptrack"] = functools.partial(measure.run_once, raw.wrap(argv))
        samples = measure.in_turns(commands, setting.rounds)
        ratio = figures.ratio_of(samples, "memtrack")
        beside = measure.median(samples["heaptrack"], "tree_cpu") / measure.median(
            samples["plain"], "program_cpu") if setting.heaptrack else None
        yield figures.Row(f"{name}, native", f"{measure.median(samples['plain'], 'program_cpu'):.2f} s",
                          figures.as_times(ratio), f"{PROGRAM_MOST}", ratio <= PROGRAM_MOST,
                          figures.as_times(figures.ratio_of(samples, "memtrack", "tree_cpu")),
                          heaptrack=f"{beside:.2f} in all" if beside else "")


def native(setting):
    """What native stacks cost."""
    yield from _python(setting)
    yield from _pairs(setting)
    yield from _programs(setting)
