"""Reports of large captures: from the model that they have stored, and from their events."""
import os

import figures
import measure

# Rounds of the loop, its pause (the collector is to keep the model, and a burst is 0.1 ms of work), what
# the flame graph may take from the model and from the events, in seconds.
SMALL = 4_000_000, 1000, 0.1, None
LARGE = 50_000_000, 1000, 0.3, 2.0


def on_one(argv):
    """The command on one processor, whichever is ours."""
    return ["taskset", "-c", str(max(os.sched_getaffinity(0))), *argv]


def _times(setting, argv):
    rounds = min(setting.rounds, 5)
    samples = [measure.peak_rss_of(on_one(argv)) for _ in range(rounds)]
    return measure.median(samples, "wall"), measure.median(samples, "tree_cpu")


def _row(figure, times, most=None):
    wall, cpu = times
    holds = None if most is None else wall <= most
    return figures.Row(figure, "", f"{wall:.2f} s", "" if most is None else f"{most:.1f} s", holds,
                       f"{cpu:.2f} s")


def _reports_of(setting, mode, rounds, pause_us, most_stored, most_events):
    rounds = int(rounds * setting.share)
    measure.run_once(setting.memtrack.wrap([setting.loops, mode, 1, rounds, pause_us]))
    binary, capture = setting.memtrack.binary, setting.memtrack.capture
    page = setting.folder / "stored.html"
    make = [binary, "flamegraph", "-q", "-f", "-o", page]
    name = f"{2 * rounds / 1e6:.0f} M events, {mode}"
    info = measure.run_once([binary, "info", "--json", capture]).text
    if '"type":"model"' in info.replace(" ", ""):
        yield _row(f"flame graph of {name}: stored model", _times(setting, [*make, capture]),
                   most_stored)
    else:
        yield figures.Row(f"flame graph of {name}: stored model", "", "the collector kept none")
    # Another N than the stored one: the events are read.
    yield _row(f"flame graph of {name}: events",
               _times(setting, [*make, "--temporary-allocations=2", capture]), most_events)
    for what, options in (("an instant in the middle", ["--at=50%"]),
                          ("the highest moment of a range", ["--range=20%:80%", "--at=peak"])):
        yield _row(f"summary of {name}: {what}",
                   _times(setting, [binary, "summary", *options, capture]))


def stored(setting):
    """On one processor; wall time, and in the column of the whole tree processor time."""
    for size in SMALL, LARGE:
        for mode in "random", "tight":
            yield from _reports_of(setting, mode, *size)
