"""Resident memory over time: the samples of all processes put together."""

from collections import Counter


def resident(capture, model, process):
    """(peak of all, peak of each process, most in each bucket)."""
    instants = [(r[1], 0, i, r[0], r[2]) for i, r in enumerate(capture.rss)]
    instants += [(p["ended_ns"], 1, i, n, 0) for i, (n, p) in enumerate(capture.processes.items())
                 if p.get("ended_ns")]
    now, peaks, peak = Counter(), Counter(), 0
    buckets, before = {}, 0
    for time_ns, _, _, number, size in sorted(instants):
        if process not in (0, number):
            continue
        now[number] = size
        total = sum(now.values())
        bucket = min(time_ns // model.width, len(model.samples) - 1)
        buckets[bucket] = max(buckets.get(bucket, before if bucket else 0), total)
        before = total
        # What a bucket begins with also is in it; the loop below fills in those without instants.
        buckets.setdefault(("after", bucket), 0)
        buckets["after", bucket] = total
        peaks[number] = max(peaks[number], size)
        peak = max(peak, total)
    series, carried = [], 0
    for i in range(len(model.samples)):
        series.append(max(carried, buckets.get(i, 0)))
        carried = buckets.get(("after", i), carried)
    return peak, peaks, series
