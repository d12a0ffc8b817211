"""What a part of a capture's time shows: the model told up to its ends, and looked at there."""
import math

import capture_format as fmt
from capture_model import Model
from capture_order import ordered_events

ALLOCATED, TEMPORARY, PEAK, LIVE, LEAKS = 1, 2, 3, 4, 5


class Watched(Model):
    """A model that knows when each block was allocated, and how high the heap was since an instant."""

    def __init__(self, *arguments, **options):
        Model.__init__(self, *arguments, **options)
        self.births, self.first, self.last = 0, math.inf, math.inf
        self.window_peak, self.window_rows, self.leaked = None, {}, {}
        self.leaked_variance = 0

    def count_allocation(self, held):
        self.births += 1
        held.birth = self.births
        Model.count_allocation(self, held)

    def is_wanted(self, held):
        return held.row is not None and self.first < held.birth <= self.last

    def note_peak(self):
        self.window_peak = self.heap, self.blocks, self.now, self.variance
        self.window_rows = {row: list(live) for row, live in self.live.items()}

    def after_change(self, held, sign):
        Model.after_change(self, held, sign)
        if self.window_peak is not None and self.heap > self.window_peak[0]:
            self.note_peak()

    def leak(self, process, ended):
        for stream in list(process.waiting):
            self.settle(process, stream)
        for held in self.everything(process):
            if self.is_wanted(held):
                size, blocks, variance = self.cost(held)
                self.leaked_variance += variance
                sums = self.leaked.setdefault(held.row, [0, 0])
                sums[0] += size
                sums[1] += blocks
        Model.leak(self, process, ended)

    @staticmethod
    def everything(process):
        return list(process.blocks.values()) + [r.held for r in process.ranges]


def copy_views(model):
    return {row: [list(cost) for cost in costs] for row, costs in model.rows.items()}


def total(rows):
    return [sum(cost[0] for cost in rows.values()), sum(cost[1] for cost in rows.values())]


class Window:
    """A range of a capture's time; marks: number of the program's mark that ends it, 0: the time."""

    def __init__(self, capture, start, end, start_mark=0, end_mark=0, **options):
        self.model = Watched(capture, **options)
        self.start, self.end = start, end
        self.marks = start_mark, end_mark
        self.passed, self.seen = 0, 0
        self.before, self.frees, self.variance = {}, 0, 0
        self.from_start = start == 0 and start_mark == 0
        for event in ordered_events(capture):
            while self.is_beyond(event):
                self.go_through()
            self.seen += self.is_mark(event)
            self.model.tell(event)
        while self.passed < 2:
            self.go_through()
        self.model.finish()

    def is_mark(self, event):
        return (event.op == fmt.NOTE and event.note == fmt.NOTE_MARK and event.life == fmt.MARK
                and self.model.of_process in (0, event.process))

    def is_beyond(self, event):
        if self.passed == 2:
            return False
        if self.passed == 0 and self.from_start:
            return True
        if mark := self.marks[self.passed]:
            return self.is_mark(event) and self.seen + 1 == mark
        limit = (self.start, self.end)[self.passed]
        return limit < self.model.end_ns and self.model.time_of(event.tick) > limit

    def go_through(self):
        model, limit = self.model, (self.start, self.end)[self.passed]
        is_first, mark = self.passed == 0, self.marks[self.passed]
        self.passed += 1
        if not mark and limit >= model.end_ns:
            model.end_processes(model.end_ns)
            for process in model.state.values():
                for stream in list(process.waiting):
                    model.settle(process, stream)
        elif not mark and not (is_first and self.from_start):
            model.end_processes(limit + 1)
        (self.begin if is_first else self.finish)()

    def begin(self):
        model = self.model
        model.first = model.births
        now, model.now = model.now, self.start
        model.note_peak()
        model.now = now
        self.before = copy_views(model)
        self.frees = model.owners["totals", 0]["frees"]
        self.variance = model.variances[2]
        self.heap_before = [model.heap, model.blocks]

    def finish(self):
        model = self.model
        model.last = model.births
        peak, blocks, at, peak_variance = model.window_peak
        nothing = [[0, 0] for _ in range(4)]
        less = lambda view: {row: [now - then for now, then in
                                   zip(costs[view], self.before.get(row, nothing)[view])]
                             for row, costs in model.rows.items()}
        kept, variance = {}, 0
        for process in model.state.values():
            for held in model.everything(process):
                if model.is_wanted(held):
                    size, count, more = model.cost(held)
                    sums = kept.setdefault(held.row, [0, 0])
                    sums[0] += size
                    sums[1] += count
                    variance += more
        self.rows = {ALLOCATED: less(2), TEMPORARY: less(3), PEAK: model.window_rows, LIVE: kept}
        self.variances = {ALLOCATED: model.variances[2] - self.variance, PEAK: peak_variance,
                          LIVE: variance}
        self.instants = {PEAK: at, LIVE: self.end}
        self.sums = {"begin": self.heap_before, "end": [model.heap, model.blocks],
                     "peak": [peak, blocks], "peak_time_ns": at,
                     "frees": model.owners["totals", 0]["frees"] - self.frees}

    def answer(self, kind, has_sums):
        """As print_window says it, but for the order of the rows."""
        rows = {**self.rows, LEAKS: self.model.leaked}
        variances = {**self.variances, LEAKS: self.model.leaked_variance}
        sums = {**self.sums, "allocated": total(rows[ALLOCATED]),
                "temporary": total(rows[TEMPORARY]), "kept": total(rows[LIVE]),
                "leaked": total(rows[LEAKS])} if has_sums else {}
        unit = self.model.unit
        said = {"rows": sorted([*row, *cost] for row, cost in rows[kind].items() if any(cost)),
                "instant_ns": self.instants.get(kind, 0), **sums}
        if kind != TEMPORARY:
            said["error"] = int(unit * math.isqrt(variances[kind]) / 1024.0 + 0.5)
        return said
