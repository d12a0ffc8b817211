"""One figure each: how it is measured, and what it may be. Each function yields Rows."""
import dataclasses
import functools
import json
import os
import statistics
import subprocess

import measure
import tools
import workloads

BURST_ROUNDS, BURST_PAUSE_US = 2000, 3000
EVENTS_OF_PAGE = 1_000_000
SHARE_OF_PAGE = 0.13  # of changing stacks: so many events, those of Python's own start included


@dataclasses.dataclass
class Row:
    """A line of the table. Texts are ready to print; holds: None when nothing is promised."""
    figure: str
    plain: str
    memtrack: str
    most: str = ""
    holds: bool = None
    tree: str = ""
    memray: str = ""
    heaptrack: str = ""


@dataclasses.dataclass
class Setting:
    """What a run of the bench has to work with."""
    memtrack: tools.Memtrack
    loops: str
    heaptrack: tools.Heaptrack
    memray_of: object  # function: interpreter -> tools.Memray or None
    pythons: list
    folder: object
    rounds: int
    share: float       # of the full sizes


def under_tools(setting, candidates, argv, env=None, options=()):
    """Return {tool name: function that runs argv under it}, with `plain` first.

    options: of the tools that know them, memtrack and memray.
    """
    def run(tool):
        tool.clean()
        return measure.run_once(tool.wrap(argv), env)

    chosen = [tools.Tool("plain"), setting.memtrack, *filter(None, candidates)]
    if options:
        chosen = [dataclasses.replace(tool, options=(*tool.options, *options))
                  if hasattr(tool, "options") else tool for tool in chosen]
    return {tool.name: functools.partial(run, tool) for tool in chosen}


def ratio_of(samples, name, field="program_cpu"):
    """Return the medians' ratio of a tool to the plain run, None when it was not there."""
    if name not in samples:
        return None
    return measure.median(samples[name], field) / measure.median(samples["plain"], field)


def as_times(ratio):
    """Return a ratio as text, of nothing an empty one."""
    return "" if ratio is None else f"{ratio:.2f}"


def python_programs(setting):
    """CPU of Python programs, as a ratio to the plain run."""
    for python in setting.pythons:
        version, _ = tools.python_facts(python)
        for workload in workloads.ALL:
            script = setting.folder / "workload.py"
            script.write_text(workload.text(setting.share), encoding="utf-8")
            commands = under_tools(setting, [setting.memray_of(python), setting.heaptrack],
                                 [python, str(script)], dict(workload.env), workload.options)
            samples = measure.in_turns(commands, setting.rounds)
            ratio, most = ratio_of(samples, "memtrack"), workloads.most_for(workload, version)
            yield Row(f"{workload.name}, Python {'.'.join(map(str, version))}",
                      f"{measure.median(samples['plain'], 'program_cpu'):.2f} s", as_times(ratio),
                      f"{most}", round(ratio, 2) <= most,
                      as_times(ratio_of(samples, "memtrack", "tree_cpu")),
                      as_times(ratio_of(samples, "memray")),
                      as_times(ratio_of(samples, "heaptrack")))


def _ns_of_event(sample):
    return sample.program_cpu * 1e9 / sample.words["events"]


def _added(samples, name):
    if name not in samples:
        return None
    return statistics.median(map(_ns_of_event, samples[name])) \
        - statistics.median(map(_ns_of_event, samples["plain"]))


def c_loops(setting):
    """Nanoseconds that an event costs in the program itself, nobody waiting, then at full speed."""
    for threads, most in ((1, 4), (2, 6), (4, 6)):
        for is_burst in (True, False):
            rounds = int(400_000 * setting.share) // BURST_ROUNDS * BURST_ROUNDS or BURST_ROUNDS
            rounds = rounds if is_burst else rounds * 10
            argv = [setting.loops, "tight", threads, rounds, BURST_PAUSE_US if is_burst else 0]
            commands = under_tools(setting, [setting.heaptrack], argv)
            samples = measure.in_turns(commands, setting.rounds)
            added, beside = _added(samples, "memtrack"), _added(samples, "heaptrack")
            what = "bursts" if is_burst else "full speed, waits included"
            yield Row(f"malloc/free, {threads} thread{'s' * (threads > 1)}, {what}: "
                      "ns added to an event",
                      f"{statistics.median(map(_ns_of_event, samples['plain'])):.1f} ns",
                      f"{added:+.1f} ns", f"{most} ns" if is_burst else "",
                      added <= most if is_burst else None,
                      as_times(ratio_of(samples, "memtrack", "tree_cpu")), "",
                      "" if beside is None else f"{beside:+.0f} ns")


PARTIAL = (("one block in 512 KiB", ("--sample-bytes", "512K"), 1.02),
           ("blocks of 1 MiB and more", ("--min-size", "1M"), None))


def partial(setting):
    """CPU of programs of which not every block is recorded, as a ratio to the plain run."""
    script = setting.folder / "partial.py"
    programs = [(workload.name, [setting.pythons[0], script], dict(workload.env), workload)
                for workload in workloads.ALL]
    programs += [(f"malloc/free, {name}", [setting.loops, *words], None, None) for name, words in (
        ("1 thread", ("tight", 1, int(10_000_000 * setting.share))),
        ("4 threads", ("tight", 4, int(3_000_000 * setting.share))),
        ("blocks at random", ("random", 1, int(4_000_000 * setting.share))))]
    for name, argv, env, workload in programs:
        if workload:
            script.write_text(workload.text(setting.share), encoding="utf-8")
        variants = [setting.memtrack.having(what, *options) for what, options, _ in PARTIAL]
        commands = {tool: run for tool, run in under_tools(
            setting, variants, argv, env, workload.options if workload else ()).items()
                    if tool != "memtrack"}
        samples = measure.in_turns(commands, setting.rounds)
        for what, _, most in PARTIAL:
            ratio = ratio_of(samples, what)
            yield Row(f"{name}, {what}", f"{measure.median(samples['plain'], 'program_cpu'):.2f} s",
                      as_times(ratio), "" if most is None else f"{most}",
                      None if most is None else round(ratio, 2) <= most,
                      as_times(ratio_of(samples, what, "tree_cpu")))


def _report(setting, *arguments):
    ended = subprocess.run([setting.memtrack.binary, *map(str, arguments)], check=True,
                           stdout=subprocess.PIPE, text=True)
    return ended.stdout


def stats_of(setting):
    """Return what `stats --json` says of the capture made last."""
    return json.loads(_report(setting, "stats", "--json", setting.memtrack.capture))


def _collector_cost(setting, index, argv, env=None):
    """Return (ns of collector an event, bytes of file an event), medians. index: as --index has it."""
    memtrack = setting.memtrack.having("memtrack", f"--index={index}")
    times, sizes = [], []
    for _ in range(setting.rounds):
        measure.run_once(memtrack.wrap(argv), env)
        stats = stats_of(setting)
        events = stats["totals"]["allocations"] + stats["totals"]["frees"]
        times.append(stats["overhead"]["collector_ns"] / events)
        sizes.append(os.path.getsize(setting.memtrack.capture) / events)
    return statistics.median(times), statistics.median(sizes)


def collector(setting):
    """CPU of the collector for an event, without the index and with it, and what it takes in the file."""
    rounds = int(5_000_000 * setting.share)
    script = setting.folder / "stacks.py"
    script.write_text(workloads.CHANGING_STACKS.text(setting.share), encoding="utf-8")
    for name, argv, env, most, most_of_all in (
            ("tight loop", [setting.loops, "tight", 1, rounds], None, 15, 12),
            ("blocks at random", [setting.loops, "random", 1, rounds], None, 35, 25),
            ("changing stacks", [setting.pythons[0], script], {"PYTHONMALLOC": "malloc"}, 60, 40)):
        cost, size = _collector_cost(setting, "never", argv, env)
        yield Row(f"collector CPU of an event, {name}", "", f"{cost:.0f} ns", f"{most} ns",
                  cost <= most)
        cost, _ = _collector_cost(setting, "always", argv, env)
        yield Row("the same with the index", "", f"{cost:.0f} ns", f"{most_of_all} ns",
                  cost <= most_of_all)
        yield Row(f"capture bytes of an event, {name}", "", f"{size:.2f}")


def start_up(setting):
    """What it takes to begin: wall time over the plain program's, and of --help."""
    rounds = max(setting.rounds, 15)
    python = setting.pythons[0]
    memray = setting.memray_of(python)
    samples = measure.in_turns(under_tools(setting, [setting.heaptrack], ["/bin/true"]), rounds)
    plain = measure.median(samples["plain"], "wall")
    over = {name: (measure.median(row, "wall") - plain) * 1e3 for name, row in samples.items()}
    script = setting.folder / "empty.py"
    script.write_text("", encoding="utf-8")
    helps = {"memtrack": lambda: measure.run_once([setting.memtrack.binary, "--help"])}
    beside = ""
    if memray:
        helps["memray"] = lambda: measure.run_once([memray.python, "-m", "memray", "--help"])
        begun = measure.in_turns({
            "plain": lambda: measure.run_once([python, script]),
            "memray": lambda: measure.run_once(memray.wrap([python, script])),
        }, rounds)
        over_plain = measure.median(begun["memray"], "wall") - measure.median(begun["plain"], "wall")
        beside = f"{over_plain * 1e3:+.0f} ms"
    helped = measure.in_turns(helps, rounds)
    yield Row("start-up of `run` over the plain one's", f"{plain * 1e3:.1f} ms",
              f"{over['memtrack']:+.1f} ms", "15 ms", over["memtrack"] <= 15,
              memray=beside,
              heaptrack=f"{over['heaptrack']:+.0f} ms" if "heaptrack" in over else "")
    times = {name: measure.median(row, "wall") * 1e3 for name, row in helped.items()}
    yield Row("`--help`", "", f"{times['memtrack']:.1f} ms", "5 ms", times["memtrack"] <= 5,
              memray=f"{times['memray']:.0f} ms" if "memray" in times else "")


def memory(setting):
    """Resident memory that the target has more than plain: its own, and the rings it shares."""
    python = setting.pythons[0]
    script = setting.folder / "memory.py"
    json_workload = next(w for w in workloads.ALL if w.name.startswith("json"))
    script.write_text(json_workload.text(setting.share), encoding="utf-8")
    for name, argv in (("C, 1 thread", [setting.loops, "random", 1, int(500_000 * setting.share)]),
                       ("Python, json", [python, script])):
        samples = measure.in_turns(under_tools(setting, [], argv), min(setting.rounds, 7))
        own = {tool: [(s.words["RssAnon"] + s.words["RssFile"]) / 1024 for s in row]
               for tool, row in samples.items()}
        added = statistics.median(own["memtrack"]) - statistics.median(own["plain"])
        rings = measure.median(samples["memtrack"], "RssShmem") / 1024
        yield Row(f"resident memory added to the target, {name}",
                  f"{statistics.median(own['plain']):.1f} MiB",
                  f"{added:+.1f} MiB, rings {rings:.1f} MiB", "4 MiB + rings", added <= 4)


def page(setting):
    """The flame graph of a million events: time, memory, size."""
    python = setting.pythons[0]
    script = setting.folder / "page.py"
    script.write_text(workloads.CHANGING_STACKS.text(SHARE_OF_PAGE), encoding="utf-8")
    env = {"PYTHONMALLOC": "malloc"}
    measure.run_once(setting.memtrack.wrap([python, script]), env)
    stats = stats_of(setting)
    events = stats["totals"]["allocations"] + stats["totals"]["frees"]
    html = setting.folder / "page.html"
    make = [setting.memtrack.binary, "flamegraph", "-f", "-o", html, setting.memtrack.capture]
    samples = [measure.peak_rss_of(make) for _ in range(setting.rounds)]
    wall, rss = measure.median(samples, "wall"), measure.median(samples, "peak_rss") / (1 << 20)
    size = html.stat().st_size / (1 << 20)
    beside = _memray_page(setting, python, script, env)
    yield Row(f"flame graph of {events / 1e6:.1f} M events, temporal included: time", "",
              f"{wall:.2f} s", "0.3 s", wall <= 0.3 * events / EVENTS_OF_PAGE,
              f"{measure.median(samples, 'tree_cpu'):.2f} s", memray=beside[0])
    yield Row("flame graph: resident memory", "", f"{rss:.0f} MiB", "60 MiB", rss <= 60,
              memray=beside[1])
    yield Row("flame graph: page", "", f"{size:.2f} MiB", "1 MiB", size <= 1, memray=beside[2])


def _memray_page(setting, python, script, env):
    """Return texts of time, memory and size of memray's flame graph, then of its temporal one."""
    memray = setting.memray_of(python)
    if memray is None:
        return "", "", ""
    memray.clean()
    measure.run_once(memray.wrap([python, script]), env)
    html = setting.folder / "memray.html"
    texts = []
    for options in ([], ["--temporal"]):
        make = [memray.python, "-m", "memray", "flamegraph", *options, "-f", "-o", html,
                memray.capture]
        samples = [measure.peak_rss_of(make) for _ in range(min(setting.rounds, 3))]
        texts.append((f"{measure.median(samples, 'wall'):.1f} s",
                      f"{measure.median(samples, 'peak_rss') / (1 << 20):.0f} MiB",
                      f"{html.stat().st_size / (1 << 20):.2f} MiB"))
    return [f"{plain}, temporal {temporal}" for plain, temporal in zip(*texts)]


SECTIONS = {
    "python": python_programs,
    "loops": c_loops,
    "partial": partial,
    "collector": collector,
    "startup": start_up,
    "memory": memory,
    "page": page,
}
