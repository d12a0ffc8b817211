"""What a capture means: the sums that reports show.

Written for being obviously right: dictionaries and whole copies, no cleverness. The rules are those
of docs/format.md section 3 and reporters/profile/profile.h.
"""
import bisect
import math
from collections import Counter, defaultdict

import capture_format as fmt
import capture_keys
from capture_estimate import UNIT_OF_LEVELS, estimate, level_mean, level_of, whole
from capture_order import fork_parent, ordered_events
from capture_resident import resident
from capture_words import Words

HEAP_CLASSES = {0, 4, 5}
RESERVED, FILES = 1, {2, 3}
REALLOCS = {3, 4, 34, 38, 42}
MMAP, MREMAP = 16, 17
MAPS = 4
BUCKETS = 2048
NEVER = fmt.U32
UNDO_DEPTH = 4
LIFETIME_LIMITS = [10**6, 10**7, 10**8, 10**9]


class Held:
    """Something live and counted: a block, or a part of a range."""

    def __init__(self, size, row, tick, ordinal=0, level=0):
        self.size, self.row, self.tick, self.ordinal, self.level = size, row, tick, ordinal, level
        self.born = None
        self.birth = 0  # for those who count allocations

    def part(self, size):
        part = Held(size, self.row, self.tick, self.ordinal)
        part.birth = self.birth
        return part


class Range:
    """Bytes mapped as one; held says what of it counts as heap."""

    def __init__(self, start, end, stream, stack, map_class, counted, held):
        self.start, self.end, self.stream, self.stack = start, end, stream, stack
        self.map_class, self.counted, self.held = map_class, counted, held

    def part(self, start, end):
        return Range(start, end, self.stream, self.stack, self.map_class, self.counted,
                     self.held.part(end - start))


class ProcessState:
    def __init__(self):
        self.blocks, self.inherited, self.ranges = {}, set(), []
        self.waiting = []  # streams with a release that waits
        self.begun = False


class Model(Words):
    """The events told one by one; instants: of the samples, from an earlier reading."""

    def __init__(self, capture, *, instants=None, peak_instant=None, process=0, tid=0, threshold=1,
                 pools=False):
        self.domains = {fmt.POOLS} if pools else set(range(MAPS + 1))
        Words.__init__(self, process)
        self.capture, self.instants, self.peak_instant = capture, instants, peak_instant
        self.threshold = threshold
        limits = [capture.session.get(key, 0) for key in ("min_size", "max_file", "max_overhead")]
        self.leaves_out = any(limits) or bool(capture.states)
        self.mean, self.variance, self.variances = capture.session.get("sample_bytes", 0), 0, [0] * 4
        self.unit = self.mean or UNIT_OF_LEVELS
        self.is_estimate = self.mean > 0 or bool(capture.samplings)
        self.firsts = {}  # by stack without its level, and stream: the stack that stands for all
        self.is_partial = (any(limits) or self.mean > 0
                           or any(state[2] != fmt.CAUSE_LAST for state in capture.states))
        self.selected = {s for s, t in capture.threads.items()
                         if process in (0, t.get("process", 0)) and tid in (0, t.get("tid", 0))}
        self.listed = sorted(capture.ticks)
        self.process_of = {s: t.get("process", 0) for s, t in capture.threads.items()}
        self.state = {number: ProcessState() for number in capture.processes}
        self.children = {n: sorted((c for c in capture.processes if fork_parent(capture, c) == n),
                                   key=lambda c: capture.processes[c].get("first_segment", 0))
                         for n in capture.processes}
        self.uncopied = {n for n in capture.processes if fork_parent(capture, n) is not None}
        self.ends = sorted((p["ended_ns"], i, n) for i, (n, p) in
                           enumerate(capture.processes.items()) if p.get("ended_ns", 0))
        self.ordinals, self.waits, self.history = Counter(), {}, defaultdict(list)
        self.noted_lost = Counter()
        self.now = self.tick = 0
        self.heap = self.blocks = self.changes = 0
        self.totals = Counter()
        self.rows, self.row_order = defaultdict(lambda: [[0, 0] for _ in range(4)]), []
        self.live = defaultdict(lambda: [0, 0])
        self.owners = defaultdict(Counter)
        self.holding, self.highest = Counter(), Counter()
        self.sizes, self.lifetimes = defaultdict(lambda: [0, 0]), [0] * 6
        self.intervals = Counter()
        self.peak = (0, 0, 0, 0)  # bytes, blocks, time, change
        self.end_ns = self.last_instant()
        self.width = 10**6
        while self.end_ns // self.width >= BUCKETS:
            self.width *= 2
        self.failed_in, self.failures = Counter(), {}  # by bucket; by stack and stream
        self.samples, self.counts = [[0, 0, 0, 0]], {}  # time, bytes, blocks, change; allocations

    def last_instant(self):
        processes = self.capture.processes.values()
        last = max(self.capture.ticks.values(), default=0)
        if all(p.get("ended_ns") or not p.get("tracked", 1) for p in processes):
            return max([last] + [p.get("ended_ns", 0) for p in processes])
        times = [last, self.capture.summary.get("ended_ns", 0)] + [r[1] for r in self.capture.rss]
        return max(times + [p.get(k, 0) for p in processes for k in ("started_ns", "ended_ns")])

    # What is live.

    def change(self, key, size):
        self.holding[key] += size
        self.highest[key] = max(self.highest[key], self.holding[key])

    def owner_keys(self, row):
        stack, stream = row
        return [("thread", stream), ("process", self.process_of[stream]),
                ("allocator", self.capture.stacks[stack][2] if stack else 0)]

    def cost(self, held):
        """(bytes, blocks, variance) of what a block stands for: docs/sampling.md."""
        return estimate(level_mean(held.level) if held.level else self.mean, held.size, held.ordinal,
                        self.capture.stacks[held.row[0]][2] if held.row[0] else 0, self.unit)

    def after_change(self, held, sign):
        row = held.row
        size, blocks, variance = (sign * part for part in self.cost(held))
        self.variance += variance
        self.live[row][0] += size
        self.live[row][1] += blocks
        self.heap += size
        self.blocks += blocks
        self.changes += 1
        for key in self.owner_keys(row):
            self.change(key, size)
        for phase in self.open_phases.values():
            phase[5] = max(phase[5], self.heap)
        if self.heap > self.peak[0]:
            self.peak = self.heap, self.blocks, self.now, self.changes
            self.variances[0] = self.variance
        if self.heap > self.samples[-1][1]:
            self.samples[-1] = [self.now, self.heap, self.blocks, self.changes]
        if self.changes == self.peak_instant:
            for row_key, live in self.live.items():
                self.rows[row_key][0] = list(live)

    def shown_from(self):
        return bisect.bisect_left(self.instants, self.changes)

    def hold(self, held):
        if held.row is not None:
            self.after_change(held, 1)
            if self.instants is not None:
                held.born = self.shown_from()

    def drop(self, held):
        if held.row is not None:
            self.after_change(held, -1)
            self.show(held, self.shown_from() if self.instants is not None else None)

    def show(self, held, until):
        if held.row is not None and self.instants is not None and held.born < until:
            size, blocks, _ = self.cost(held)
            self.intervals[held.row, held.born, until, "bytes"] += size
            self.intervals[held.row, held.born, until, "allocations"] += blocks

    # What is counted.

    def row(self, stack, stream):
        if stream not in self.selected:
            return None
        if stack:
            stack = self.firsts.setdefault((whole(self.capture.stacks[stack]), stream), stack)
        if (stack, stream) not in self.rows:
            self.row_order.append((stack, stream))
            self.rows[stack, stream]  # pylint: disable=pointless-statement
        return stack, stream

    def count_allocation(self, held):
        if held.row is None:
            return
        size, blocks, variance = self.cost(held)
        self.variances[2] += variance
        self.rows[held.row][2][0] += size
        self.rows[held.row][2][1] += blocks
        for key in self.owner_keys(held.row) + [("totals", 0)]:
            self.owners[key]["allocations"] += blocks
            self.owners[key]["allocated_bytes"] += size
        size_class = self.sizes[held.size.bit_length()]
        size_class[0] += blocks
        size_class[1] += size

    def time_of(self, tick):
        at = bisect.bisect_right(self.listed, tick)
        return self.capture.ticks[self.listed[at - 1]] if at else 0

    def position(self, tick):
        return bisect.bisect_right(self.listed, tick)

    def lifetime(self, held):
        if self.position(held.tick) == self.position(self.tick):
            return 0
        return bisect.bisect_right(LIFETIME_LIMITS, self.now - self.time_of(held.tick))

    def step_release(self, counted, step):
        held, stream, lifetime, temporary = counted
        if held.row is None:
            return
        for key in [("thread", stream), ("process", self.process_of[stream]), ("totals", 0)]:
            self.owners[key]["frees"] += step * self.cost(held)[1]
        self.lifetimes[lifetime] += step * self.cost(held)[1]
        if temporary:
            self.rows[held.row][3][0] += step * held.size
            self.rows[held.row][3][1] += step
            self.totals["temporary_allocations"] += step

    def count_release(self, held, stream, temporary=False):
        counted = held, stream, self.lifetime(held), temporary
        self.step_release(counted, 1)
        return counted

    def was_silent_since(self, time_ns):
        """Now may be any instant of the tick in force."""
        later = [at for at in self.capture.ticks.values() if at > self.now]
        return any(state in (0, 2) and time_ns <= at and (not later or at < min(later))
                   for at, state, _ in self.capture.states)

    def violation(self, stream, count=1):
        if stream in self.selected:
            self.totals["order_violations"] += count

    def remember(self, stream, *undo):
        self.history[stream] = [undo] + self.history[stream][:UNDO_DEPTH - 1]

    # Blocks.

    def take_block(self, process, key, stream):
        held = process.blocks.pop(key)
        temporary = (held.row is not None and held.row[1] == stream and not self.is_estimate
                     and self.ordinals[stream] - held.ordinal <= self.threshold)
        self.drop(held)
        return self.count_release(held, stream, temporary)

    def release_block(self, process, stream, key):
        if key in process.blocks:
            self.remember(stream, "block", key, self.take_block(process, key, stream))
        else:
            was = key in process.inherited
            process.inherited.discard(key)
            self.remember(stream, "block", key, "inherited" if was else None)

    def alloc(self, process, event):
        key = event.domain, event.address
        self.settle_others(process, lambda wait: wait[0] == "block" and wait[1] == key)
        if key in process.blocks:
            old = process.blocks.pop(key)
            self.drop(old)
            self.violation(event.stream, not self.was_silent_since(self.time_of(old.tick)))
        elif key in process.inherited:
            process.inherited.discard(key)
            self.violation(event.stream, not self.was_silent_since(0))
        self.ordinals[event.stream] += 1
        held = Held(event.bytes, self.row(event.stack, event.stream), self.tick,
                    self.ordinals[event.stream], level_of(self.capture, event.stack))
        process.blocks[key] = held
        self.count_allocation(held)
        self.hold(held)

    def free(self, process, event):
        own = "block", (event.domain, event.address)
        self.settle_others(process, lambda wait: wait[:2] == own)
        if (key := capture_keys.live(process, event)) is None:
            self.totals["unknown_frees"] += event.stream in self.selected and not self.leaves_out
        elif event.allocator in REALLOCS and self.is_partial:
            self.release_block(process, event.stream, key)
        elif event.allocator in REALLOCS:
            self.wait(process, event.stream, ("block", key))
        elif key in process.blocks:
            self.take_block(process, key, event.stream)
        else:
            process.inherited.discard(key)

    # Ranges.

    def insert(self, process, new):
        new.held.size = new.end - new.start
        new.held.row = None
        if new.counted and new.map_class in HEAP_CLASSES:
            new.held.row = self.row(new.stack, new.stream)
        if new.counted and (new.map_class == RESERVED or new.map_class in FILES):
            self.change(("class", new.map_class == RESERVED), new.held.size)
        self.hold(new.held)
        process.ranges.append(new)
        process.ranges.sort(key=lambda r: r.start)

    def remove(self, process, old):
        if old.counted and (old.map_class == RESERVED or old.map_class in FILES):
            self.change(("class", old.map_class == RESERVED), -old.held.size)
        self.drop(old.held)
        process.ranges.remove(old)

    def cut_out(self, process, old, start, end):
        """Take the part in [start, end) out of a range."""
        self.remove(process, old)
        if old.start < start:
            self.insert(process, old.part(old.start, start))
        if old.end > end:
            self.insert(process, old.part(end, old.end))
        return old.part(max(start, old.start), min(end, old.end))

    @staticmethod
    def overlapping(process, start, end):
        return [r for r in process.ranges if r.start < end and r.end > start]

    def release_range(self, process, stream, start, end, remembered=True):
        parts = []
        for old in self.overlapping(process, start, end):
            part = self.cut_out(process, old, start, end)
            parts.append((part, self.count_release(part.held, stream)))
        if remembered:
            self.remember(stream, "range", start, parts)

    def settle_overlapping(self, process, event):
        start, end = event.address, event.address + event.bytes
        self.settle_others(process, lambda wait: wait[0] == "range" and wait[1] < end
                           and start < wait[1] + wait[2])

    def map(self, process, event):
        self.settle_overlapping(process, event)
        start, end = event.address, event.address + event.bytes
        if start == end:
            return
        self.release_range(process, event.stream, start, end, remembered=False)
        new = Range(start, end, event.stream, event.stack,
                    self.capture.stacks[event.stack][3] if event.stack else 0,
                    event.stream in self.selected, Held(0, None, self.tick))
        self.insert(process, new)
        self.count_allocation(new.held)

    def unmap(self, process, event):
        self.settle_overlapping(process, event)
        if event.allocator in (MMAP, MREMAP):
            self.wait(process, event.stream, ("range", event.address, event.bytes))
        else:
            self.release_range(process, event.stream, event.address, event.address + event.bytes)

    def protect(self, process, event):
        self.settle_overlapping(process, event)
        start, end = event.address, event.address + event.bytes
        for old in self.overlapping(process, start, end):
            if old.map_class == event.map_class:
                continue
            part = self.cut_out(process, old, start, end)
            was, now = part.map_class in HEAP_CLASSES, event.map_class in HEAP_CLASSES
            if was and not now:
                part.held.row = old.held.row
                self.count_release(part.held, event.stream)
            if now and not was:
                part.held.tick = self.tick
            part.map_class = event.map_class
            self.insert(process, part)
            if now and not was:
                self.count_allocation(part.held)

    # Releases that wait, and those taken back.

    def wait(self, process, stream, wait):
        self.waits[stream] = wait
        process.waiting.append(stream)

    def settle(self, process, stream):
        wait = self.waits.pop(stream)
        process.waiting.remove(stream)
        if wait[0] == "block":
            self.release_block(process, stream, wait[1])
        else:
            self.release_range(process, stream, wait[1], wait[1] + wait[2])

    def settle_others(self, process, touches):
        for stream in list(process.waiting):
            if touches(self.waits[stream]):
                self.settle(process, stream)

    def undo(self, process, event):
        kind = "range" if event.domain == MAPS else "block"
        key = event.address if kind == "range" else (event.domain, event.address)
        wait = self.waits.get(event.stream)
        if wait:
            if capture_keys.is_same(wait, kind, key):
                del self.waits[event.stream]
                process.waiting.remove(event.stream)
                return
            self.settle(process, event.stream)
        for entry in self.history[event.stream]:
            if capture_keys.is_same(entry, kind, key):
                self.history[event.stream][self.history[event.stream].index(entry)] = ("", 0, None)
                restore = self.restore_range if kind == "range" else self.restore_block
                wrong = restore(process, entry)
                break
        else:
            wrong = 1
        if kind == "range" or not self.leaves_out:
            self.violation(event.stream, wrong)

    def restore_block(self, process, entry):
        _, key, counted = entry
        if key in process.blocks:
            return 1
        if counted == "inherited":
            process.inherited.add(key)
        elif counted is not None:
            self.step_release(counted, -1)
            process.blocks[key] = counted[0]
            self.hold(counted[0])
        return 0

    def restore_range(self, process, entry):
        taken = 0
        for part, counted in entry[2]:
            if self.overlapping(process, part.start, part.end):
                taken += 1
                continue
            self.step_release(counted, -1)
            copy = part.part(part.start, part.end)
            self.insert(process, copy)
        return taken

    # Processes and time.

    def inherit(self, number):
        if number not in self.uncopied:
            return
        parent = fork_parent(self.capture, number)
        self.inherit(parent)
        self.uncopied.discard(number)
        child, source = self.state[number], self.state[parent]
        child.inherited = set(source.blocks) | set(source.inherited)
        for old in source.ranges:
            copy = old.part(old.start, old.end)
            copy.counted, copy.held.row = False, None
            child.ranges.append(copy)

    def fork_children(self, number, segment=None):
        for child in self.children[number]:
            if segment is None or self.capture.processes[child].get("first_segment", 0) <= segment:
                self.inherit(child)

    def advance(self, time_ns):
        self.now = max(self.now, time_ns)
        bucket = min(self.now, self.end_ns) // self.width
        while len(self.samples) <= bucket:
            self.counts[len(self.samples) - 1] = self.owners["totals", 0]["allocations"]
            self.samples.append([len(self.samples) * self.width, self.heap, self.blocks,
                                 self.changes])

    def fail(self, event):
        self.totals["failed_allocations"] += 1
        self.failed_in[len(self.samples) - 1] += 1
        failure = self.failures.setdefault((event.stack, event.stream), [0, 0, self.now, self.now])
        failure[0] += 1
        failure[1] = max(failure[1], event.bytes)
        failure[3] = self.now

    def leak(self, process, ended):
        for stream in list(process.waiting):
            self.settle(process, stream)
        for held in list(process.blocks.values()) + [r.held for r in process.ranges]:
            if held.row is not None:
                size, blocks, variance = self.cost(held)
                self.variances[1] += variance
                self.rows[held.row][1][0] += size
                self.rows[held.row][1][1] += blocks
                self.lifetimes[5] += blocks
            if not ended:
                if held.row is not None and self.instants and held.born < len(self.instants):
                    self.show(held, NEVER)
        if ended:
            for held in process.blocks.values():
                self.drop(held)
            for old in list(process.ranges):
                self.remove(process, old)
        process.blocks, process.inherited, process.ranges = {}, set(), []

    def end_processes(self, time_ns):
        while self.ends and self.ends[0][0] < time_ns:
            ended_ns, _, number = self.ends.pop(0)
            self.advance(ended_ns)
            self.fork_children(number)
            self.end_words(number, self.now)
            self.leak(self.state[number], True)

    def tell(self, event):
        process = self.state[event.process]
        time_ns = self.time_of(event.tick)
        self.end_processes(time_ns)
        self.advance(time_ns)
        self.tick = event.tick
        if not process.begun:
            process.begun = True
            self.inherit(event.process)
        self.fork_children(event.process, event.segment)
        if event.stream in self.waits and event.op not in (fmt.UNDO, fmt.NOTE, fmt.FAIL):
            self.settle(process, event.stream)
        if event.op == fmt.FAIL and event.domain in self.domains:
            if event.stream in self.selected:
                self.fail(event)
        elif event.op in (fmt.ALLOC, fmt.FREE):
            if event.domain == fmt.POOLS not in self.domains and event.stream in self.selected:
                self.take_pool(event)
            if event.domain in self.domains:
                (self.alloc if event.op == fmt.ALLOC else self.free)(process, event)
        elif event.op == fmt.NOTE:
            self.noted_lost[event.stream] += event.bytes if event.note == fmt.NOTE_LOST else 0
            if event.note == fmt.NOTE_MARK and self.of_process in (0, event.process):
                self.take_mark(event)
        elif event.domain not in self.domains:
            pass
        else:
            {fmt.MAP: self.map, fmt.UNMAP: self.unmap, fmt.PROTECT: self.protect,
             fmt.UNDO: self.undo}[event.op](process, event)

    def finish(self):
        self.end_processes(self.end_ns)
        self.end_words(None, self.end_ns)
        for number in self.capture.processes:
            self.leak(self.state[number], False)
        self.advance(self.end_ns)


def lost_events(capture, model, process, tid):
    lost = sum(max(t.get("lost", 0), model.noted_lost[s]) for s, t in capture.threads.items()
               if s in model.selected)
    if not tid:
        lost += sum(p.get("counter_6", 0) for n, p in capture.processes.items()
                    if process in (0, n))
    return lost


def build(capture, *, process=0, tid=0, threshold=1, pools=False):
    """The model of a capture, as one dictionary that compares with what the programs say."""
    options = {"process": process, "tid": tid, "threshold": threshold, "pools": pools}
    first = Model(capture, **options)
    events = list(ordered_events(capture))
    for event in events:
        first.tell(event)
    first.finish()
    instants = [sample[3] for sample in first.samples]
    model = Model(capture, instants=instants, peak_instant=first.peak[3], **options)
    for event in events:
        model.tell(event)
    model.finish()
    rss_peak, rss_peaks, rss_series = resident(capture, model, process)
    owner = lambda key: {**{k: model.owners[key][k] for k in
                            ("allocations", "frees", "allocated_bytes")},
                         "peak_bytes": model.highest[key]}
    rows = [{"stack": s, "stream": t, "costs": model.rows[s, t]} for s, t in model.row_order]
    number_of = {key: i for i, key in enumerate(model.row_order)}
    totals = {**{k: model.owners["totals", 0][k] for k in
                 ("allocations", "frees", "allocated_bytes")},
              "peak_bytes": model.peak[0], "peak_allocations": model.peak[1],
              "peak_time_ns": model.peak[2],
              "leaked_bytes": sum(r["costs"][1][0] for r in rows),
              "leaked_allocations": sum(r["costs"][1][1] for r in rows),
              "temporary_allocations": model.totals["temporary_allocations"],
              "peak_rss_bytes": rss_peak,
              "reserved_peak_bytes": model.highest["class", True],
              "mapped_file_peak_bytes": model.highest["class", False],
              "unknown_frees": model.totals["unknown_frees"],
              "order_violations": model.totals["order_violations"],
              "lost_events": lost_events(capture, model, process, tid),
              "failed_allocations": model.totals["failed_allocations"]}
    return {
        "totals": totals,
        "standard_errors": [int(model.unit * math.isqrt(v) / 1024.0 + 0.5) for v in model.variances],
        "rows": rows,
        "allocators": [{"allocator": a, **{k: v for k, v in owner(("allocator", a)).items()
                                           if k != "frees"}}
                       for a in range(256) if model.owners["allocator", a]["allocations"]],
        "processes": [{**owner(("process", n)), "peak_rss_bytes": rss_peaks[n]}
                      for n in capture.processes],
        "threads": [owner(("thread", s)) for s in sorted(capture.threads)],
        "sizes": [list(model.sizes[i]) if i in model.sizes else [0, 0] for i in range(65)],
        "lifetimes": model.lifetimes,
        "samples": [[*s[:3], r, first.failed_in[i], first.counts.get(i, totals["allocations"])]
                    for i, (s, r) in enumerate(zip(first.samples, rss_series))],
        "failures": [[*who, *what] for who, what in first.failures.items()],
        "peak_sample": max(range(len(first.samples)), key=lambda i: (first.samples[i][1], -i)),
        "intervals": sorted([number_of[row], a, b, model.intervals[row, a, b, "bytes"],
                             model.intervals[row, a, b, "allocations"]]
                            for row, a, b, what in list(model.intervals) if what == "allocations"),
        "end_ns": model.end_ns,
        **model.words(),
    }
