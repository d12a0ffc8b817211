"""The events of a capture in their order: decoded, and merged as docs/format.md section 3 says."""

import struct
from collections import defaultdict, namedtuple

import capture_format as fmt

Event = namedtuple("Event", "op domain address bytes stack allocator map_class note life process "
                            "stream segment tick")
FORK = 1


def decode_run_events(capture, part):
    """The records of a section as runs: [(segment, tick, [event, ...]), ...]."""
    runs, wide = [], 0
    for w0, w1 in struct.iter_unpack("<QQ", part.payload):
        op, domain, address = w0 >> 60, w0 >> 57 & 7, w0 & fmt.ADDRESS_MASK
        if op == fmt.SYNC:
            runs.append((address, w1 & fmt.U32, []))
            continue
        if op == fmt.WIDE:
            wide = (w1 & fmt.U32) << 32
            continue
        low, high = w1 & fmt.U32, w1 >> 32
        fields = dict.fromkeys(Event._fields, 0)
        fields.update(op=op, domain=domain, address=address, process=part.process,
                      stream=part.stream, segment=runs[-1][0], bytes=wide | low)
        wide = 0
        if op in (fmt.ALLOC, fmt.MAP, fmt.FAIL):
            fields.update(stack=high)
        elif op == fmt.FREE:
            fields.update(allocator=low & 255, bytes=0)
        elif op in (fmt.UNMAP, fmt.UNDO):
            fields.update(allocator=high & 255)
        elif op == fmt.PROTECT:
            fields.update(map_class=high & 255)
        elif op == fmt.NOTE:
            if (w0 & 0xFFFF) == fmt.NOTE_MARK:
                fields.update(note=fmt.NOTE_MARK, life=w0 >> 16 & 0xFF, domain=0,
                              address=w0 >> 24 & fmt.U32, bytes=low, stack=high)
                runs[-1][2].append(Event(**fields))
                continue
            if (w0 & 0xFFFF) not in (fmt.NOTE_LOST, fmt.NOTE_LIFE, fmt.NOTE_CLOCK):
                continue
            fields.update(note=w0 & 0xFFFF, life=w0 >> 16 & 0xFFFF if w0 & 0xFFFF == 2 else 0,
                          domain=0, address=0, bytes=w1)
        runs[-1][2].append(Event(**fields))
    return runs


def fork_parent(capture, number):
    process = capture.processes[number]
    parent = process.get("parent", 0)
    if process.get("how") == FORK and parent in capture.processes and parent < number:
        return parent
    return None


def ordered_events(capture):
    """All events that may be used, in their true order."""
    whole = capture.clean and capture.damage is None and not capture.summary.get("snapshot")
    runs = defaultdict(list)
    index = {number: i for i, number in enumerate(capture.processes)}
    for part in capture.events:
        for segment, tick, events in decode_run_events(capture, part):
            if whole or segment <= capture.bounds.get(part.process, 0):
                runs[part.process].append([segment, part.stream, tick, events])
    for number in runs:
        runs[number].sort(key=lambda run: run[:2])  # stable: a stream's own order stays
        highest = 0
        for run in runs[number]:
            highest = run[2] = max(highest, run[2])
    at = dict.fromkeys(capture.processes, 0)

    def is_free(number):
        """Has its parent come to its first segment?"""
        parent = fork_parent(capture, number)
        if parent is None:
            return True
        left = runs[parent][at[parent]:]
        first = capture.processes[number].get("first_segment", 0)
        return is_free(parent) and (not left or left[0][0] >= first)

    while True:
        ready = [(runs[n][at[n]][2], index[n], n) for n in capture.processes
                 if at[n] < len(runs[n]) and is_free(n)]
        if not ready:
            return
        number = min(ready)[2]
        _, _, tick, events = runs[number][at[number]]
        at[number] += 1
        for event in events:
            yield event._replace(tick=tick)
