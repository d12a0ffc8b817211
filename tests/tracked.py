"""Run programs under memtrack and read what their captures say.

Captures are only read through the command (`dump --json`, `stats --json`, ...), so these tests hold
for whatever stands behind it. `replay()` is a second, independent reckoning of the events.
"""
import collections
import dataclasses
import json
import os
import re
import subprocess
import textwrap

TIMEOUT_S = 60

HEAP_CLASSES = (None, "anonymous", "shared", "shared memory", "stack")


@dataclasses.dataclass
class Finished:
    """A program that has ended."""
    returncode: int
    stdout: str
    stderr: str
    capture: "Capture"

    def words(self):
        """What a test program says of itself: lines `NAME NUMBER...` as {NAME: [numbers]}."""
        said = {}
        for line in self.stdout.splitlines():
            name, *numbers = line.split()
            said[name] = [int(number, 0) for number in numbers]
        return said


class Memtrack:
    """The command, with a folder for its captures."""

    def __init__(self, binary, folder):
        self.binary = str(binary)
        self.folder = folder
        self._count = 0

    def command(self, *command, options=(), output=None):
        """Return (argv, capture path) of `memtrack run` for a program."""
        self._count += 1
        output = output or self.folder / f"capture{self._count}.bin"
        argv = [self.binary, "run", "-q", "-o", str(output), *options, *map(str, command)]
        return argv, output

    def run(self, *command, options=(), output=None, expect=0, check=True, timeout=TIMEOUT_S,
            **popen):
        """Run a program to its end, tracked; its exit code must be `expect`."""
        argv, output = self.command(*command, options=options, output=output)
        ended = finish(argv, timeout=timeout, **popen)
        ended.capture = Capture(self, output)
        if check:
            assert ended.returncode == expect, explain(argv, ended)
        return ended

    def start(self, *command, options=(), output=None, **popen):
        """Start a program, tracked. Returns (Popen of memtrack run, Capture)."""
        argv, output = self.command(*command, options=options, output=output)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(argv, text=True, **popen), Capture(self, output)

    def report(self, *arguments, **popen):
        """Run any other command to its end."""
        return finish([self.binary, *map(str, arguments)], **popen)


class Capture:
    """A capture file, seen through the reports."""

    def __init__(self, memtrack, path):
        self.memtrack = memtrack
        self.path = path
        self._lines = {}
        self._events = {}

    def json(self, report, *options, expect=0):
        """Return the object of `memtrack REPORT --json`; the report must end with `expect`."""
        ended = self.memtrack.report(report, self.path, "--json", *options)
        assert ended.returncode == expect, f"{report}: exit {ended.returncode}: {ended.stderr}"
        return json.loads(ended.stdout)

    def stats(self, *options):
        return self.json("stats", *options)

    def cut_stats(self):
        """Return the stats of a capture whose end is missing: they are told with exit code 3."""
        stats = self.json("stats", expect=3)
        assert stats["capture"]["state"] == "truncated"
        return stats

    def totals(self, *options):
        return self.stats(*options)["totals"]

    def rows(self, *options):
        return self.json("table", "--rows", "0", *options)["rows"]

    def lines(self, *options):
        """Return the events as lines of JSON. Kept: they are asked for often."""
        if options not in self._lines:
            ended = self.memtrack.report("dump", self.path, "--json", *options)
            assert ended.returncode == 0, f"dump: exit {ended.returncode}: {ended.stderr}"
            self._lines[options] = ended.stdout.splitlines()
        return self._lines[options]

    def events(self, *options):
        """Return all events, in the capture's order. Kept as well."""
        if options not in self._events:
            self._events[options] = [json.loads(line) for line in self.lines(*options)]
        return self._events[options]

    def holding(self, text, *options):
        """Return the events whose lines hold a text. Only those are taken apart: of a million, in time."""
        return [json.loads(line) for line in self.lines(*options) if text in line]

    def of_line(self, script, name, *operations):
        """Return the events whose innermost frame is this line of a Script: those that give out."""
        number = script.line(name)
        found = self.holding(f'"file":{json.dumps(str(script))},"line":{number},')
        return [event for event in found if event["op"] in (operations or ("alloc", "realloc"))
                and (event["stack"][0]["file"], event["stack"][0]["line"]) == (str(script), number)]

    def sized(self, count_bytes, *options):
        """Return the events that gave out so many bytes."""
        return [event for event in self.holding(f'"bytes":{count_bytes},', *options)
                if event["bytes"] == count_bytes
                and event["op"] in ("alloc", "realloc", "map", "remap")]

    def one(self, count_bytes, *options):
        """Return the only event that gave out so many bytes."""
        found = self.sized(count_bytes, *options)
        assert len(found) == 1, f"{len(found)} events of {count_bytes} bytes: {found}"
        return found[0]

    def assert_sound(self):
        """Nothing invented and nothing lost, by the reader's count and by our own."""
        totals = self.totals()
        assert totals["order_violations"] == 0, totals
        assert totals["lost_events"] == 0, totals
        return totals


def finish(argv, timeout=TIMEOUT_S, text=True, **popen):
    """Run a command to its end, with its output taken up. Returns Finished, without a capture."""
    popen.setdefault("stdin", subprocess.DEVNULL)
    ended = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                           check=False, text=text, **popen)
    return Finished(ended.returncode, ended.stdout, ended.stderr, None)


def explain(argv, ended):
    return (f"{' '.join(map(str, argv))}\nended with {ended.returncode}\n"
            f"stdout: {ended.stdout[-2000:]}\nstderr: {ended.stderr[-2000:]}")


def sums(rows):
    """Add rows up by allocator: {allocator: (bytes, allocations)}."""
    result = {}
    for row in rows:
        count_bytes, allocations = result.get(row["allocator"], (0, 0))
        result[row["allocator"]] = (count_bytes + row["bytes"], allocations + row["allocations"])
    return result


def names(event):
    """Return the Python functions of an event's stack, innermost first, without qualification."""
    return [short_name(frame["function"]) for frame in event["stack"] if frame["kind"] == "python"]


def short_name(function):
    """`Class.method` and `outer.<locals>.inner` as every version names them: by the last part."""
    return re.sub(r"^.*\.(?=[^.]+$)", "", function)


def lines(event):
    """Return the line numbers of an event's Python frames, innermost first."""
    return [frame["line"] for frame in event["stack"] if frame["kind"] == "python"]


class Script:
    """A Python program in a file of its own, whose lines have names: `# line: NAME`."""

    def __init__(self, folder, text, name="program.py"):
        self.text = textwrap.dedent(text)
        self.path = folder / name
        self.path.write_text(self.text, encoding="utf-8")

    def line(self, name):
        """Return the number of the line that carries this name."""
        numbers = [number for number, line in enumerate(self.text.splitlines(), 1)
                   if line.rstrip().endswith(f"# line: {name}")]
        assert len(numbers) == 1, f"{name} stands on {len(numbers)} lines"
        return numbers[0]

    def __str__(self):
        return str(self.path)


@dataclasses.dataclass
class Reckoning:
    """What the events of one process add up to."""
    peak_bytes: int = 0
    live_bytes: int = 0
    blocks: dict = dataclasses.field(default_factory=dict)  # address -> bytes
    ranges: list = dataclasses.field(default_factory=list)  # (start, end, class)
    violations: int = 0
    unknown_frees: int = 0
    _block_bytes: int = 0
    _waiting: dict = dataclasses.field(default_factory=dict)  # tid -> (address, bytes)
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def live_in_class(self, *classes):
        return sum(end - start for start, end, kind in self.ranges if kind in classes)

    def _cut(self, start, end):
        """Take [start, end) out of the ranges."""
        kept = []
        for low, high, kind in self.ranges:
            if low < start:
                kept.append((low, min(high, start), kind))
            if high > end:
                kept.append((max(low, end), high, kind))
            if high <= low:
                kept.append((low, high, kind))
        self.ranges = [piece for piece in kept if piece[1] > piece[0]]

    def _put(self, address, count_bytes):
        """A block is live from now on."""
        self.violations += address in self.blocks
        self._block_bytes += count_bytes - self.blocks.get(address, 0)
        self.blocks[address] = count_bytes

    def _take(self, address):
        """A block is released."""
        self.unknown_frees += address not in self.blocks
        self._block_bytes -= self.blocks.pop(address, 0)

    def _settle(self, tid, address):
        """A release by realloc takes place with its thread's next event, or when it must have."""
        for waiting, (old, count_bytes) in list(self._waiting.items()):
            if waiting == tid or old == address:
                self._block_bytes -= count_bytes
                del self._waiting[waiting]

    def _wait(self, tid, address):
        """A realloc has released its block and has no result yet: its bytes count until then."""
        count_bytes = self.blocks.get(address, 0)
        self._take(address)
        self._block_bytes += count_bytes
        self._waiting[tid] = (address, count_bytes)

    def _note(self):
        self.live_bytes = self._block_bytes + self.live_in_class(*HEAP_CLASSES)
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)


def replay(events, pid=None):
    """Reckon a process's events (the first process's unless said) from nothing. Returns Reckoning.

    Slow and plain on purpose: it shares no thought with the reader that it checks.
    """
    result = Reckoning()
    pid = events[0]["pid"] if pid is None and events else pid
    for event in events:
        if event["pid"] != pid:
            continue
        _apply(result, event)
        if event["op"] != "free":
            result._note()
    result._note()
    return result


def _apply(result, event):
    operation, address = event["op"], event["address"]
    result.counts[operation] += 1
    result._settle(event["tid"], address if operation in ("alloc", "realloc") else None)
    if operation == "free" and event["allocator"] in ("realloc", "reallocarray"):
        result._wait(event["tid"], address)
    elif operation in ("realloc", "free"):
        old = event["old_address"] if operation == "realloc" else address
        if old:
            result._take(old)
    if operation in ("alloc", "realloc") and address:
        result._put(address, event["bytes"])
    if operation in ("unmap", "remap"):
        start = event["old_address"] if operation == "remap" else address
        length = event["old_bytes"] if operation == "remap" else event["bytes"]
        result._cut(start, start + _pages(length or 0))
    if operation in ("map", "remap", "protect"):
        result._cut(address, address + _pages(event["bytes"]))
        result.ranges.append((address, address + event["bytes"], event["class"]))


def _pages(count_bytes):
    page = os.sysconf("SC_PAGE_SIZE")
    return -(-count_bytes // page) * page
