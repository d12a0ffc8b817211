"""The model that a capture has stored, read from docs/format.md section 6 alone; and captures with
another one, or none."""

import json
import struct

import capture_format as fmt
import capture_model
from capture_basics import U32, Cursor, fold, unfold, varint

U64 = (1 << 64) - 1
NEVER = U32

# Each part: its name, and how each of its columns is said: plain, change, next.
PARTS = {
    1: ("totals", "p" * 28), 2: ("rows", "cc" + "p" * 8), 3: ("processes", "ppppp"),
    4: ("threads", "ppppp"), 5: ("allocators", "pppp"), 6: ("sizes", "pp"), 7: ("samples", "ccccp"),
    8: ("intervals", "ccnpp"), 9: ("marks", "cpnn"), 10: ("phases", "ccppnnp"),
    11: ("pools", "ppppppp"), 12: ("failures", "ppppcc"),
}
LATE = 13, ("late", "p")  # may be missing
COUNTS = 14, ("counts", "c")  # of the samples; earlier versions did not write them
TOTALS = ["allocations", "frees", "allocated_bytes", "peak_bytes", "peak_allocations",
          "peak_time_ns", "leaked_bytes", "leaked_allocations", "temporary_allocations",
          "peak_rss_bytes", "reserved_peak_bytes", "mapped_file_peak_bytes", "unknown_frees",
          "order_violations", "lost_events", "failed_allocations"]
OWNER = ["allocations", "frees", "allocated_bytes", "peak_bytes", "peak_rss_bytes"]
ALLOCATOR = ["allocator", "allocations", "allocated_bytes", "peak_bytes"]


def read_column(cursor, count, how):
    last, column = 0, []
    for _ in range(count):
        value = cursor.varint()
        if how == "c":
            value = (last + unfold(value)) & U64
        elif how == "n":
            value = (value - 1) & U32
        column.append(value)
        last = value
    return column


def read_parts(data):
    """Name of the part -> its items, each a list of its fields."""
    cursor, parts = Cursor(data), {}
    while cursor.left():
        kind, part = cursor.varint(), Cursor(cursor.blob())
        if kind in PARTS or kind in (LATE[0], COUNTS[0]):
            name, hows = {**PARTS, **dict((LATE, COUNTS))}[kind]
            count = part.varint()
            columns = [read_column(part, count, how) for how in hows]
            parts[name] = [list(item) for item in zip(*columns)]
    return parts


def model_bytes(capture):
    """What its MODEL sections have, put together; None when there is none."""
    left = [part.records for part in capture.model]
    if not left or left != list(range(len(left) - 1, -1, -1)):
        return None
    if not capture.clean and not capture.aggregated:
        return None
    return b"".join(part.payload for part in capture.model)


def words(capture, parts):
    numbers = list(capture.processes)
    marks = [[time, capture.said[name][2] if not stream else capture.mark_names.get(name, ""),
              numbers[process] if process != U32 else 0, stream]
             for time, name, process, stream in
             ([t, n, p, (s + 1) & U32] for t, n, p, s in parts["marks"])]
    phases = [[begun, ended, capture.mark_names.get(name, ""), peak, numbers[process], stream + 1,
               bool(is_over)]
              for begun, ended, peak, name, process, stream, is_over in parts["phases"]]
    return {"marks": marks, "phases": phases, "pools": parts["pools"]}


def read_model(capture, data):
    """The stored model as capture_model.build() says it."""
    parts = read_parts(data)
    totals = parts["totals"][0]
    counts = parts.get("counts", [[0]] * len(parts["samples"]))
    owners = lambda name, fields: [dict(zip(fields, item)) for item in parts[name]]
    return {
        "totals": dict(zip(TOTALS, totals)),
        "end_ns": totals[16], "peak_sample": totals[17], "standard_errors": totals[18:22],
        "lifetimes": totals[22:28],
        "rows": [{"stack": row[0], "stream": row[1],
                  "costs": [row[i:i + 2] for i in range(2, 10, 2)]} for row in parts["rows"]],
        "processes": owners("processes", OWNER),
        "threads": owners("threads", OWNER[:4]),
        "allocators": owners("allocators", ALLOCATOR),
        "sizes": parts["sizes"], "intervals": parts["intervals"],
        "samples": [[*sample, *count] for sample, count in zip(parts["samples"], counts)],
        "failures": parts["failures"],
        **words(capture, parts),
    }


def write_column(column, how):
    last, out = 0, b""
    for value in column:
        if how == "c":
            out += varint(fold(value - last))
        else:
            out += varint((value + 1) & U32 if how == "n" else int(value))
        last = value
    return out


def write_words(capture, model):
    """Marks and phases with the numbers of their names in place of these."""
    indexes = {number: i for i, number in enumerate(capture.processes)}
    names = {name: number for number, name in capture.mark_names.items()}
    outside = {(time, name): i for i, (time, _, name) in enumerate(capture.said)}
    marks = [[time, names.get(name, 0) if stream else outside[time, name],
              indexes[process] if process else U32, (stream - 1) & U32]
             for time, name, process, stream in model["marks"]]
    phases = [[begun, ended, peak, names.get(name, 0), indexes[process], stream - 1, is_over]
              for begun, ended, name, peak, process, stream, is_over in model["phases"]]
    return marks, phases


def write_model(capture, model, has_counts=True):
    """The bytes of a model that capture_model.build() has made."""
    marks, phases = write_words(capture, model)
    items = {
        "totals": [[*model["totals"].values(), model["end_ns"], model["peak_sample"],
                    *model["standard_errors"], *model["lifetimes"]]],
        "rows": [[row["stack"], row["stream"], *(number for cost in row["costs"] for number in cost)]
                 for row in model["rows"]],
        "processes": [list(owner.values()) for owner in model["processes"]],
        "threads": [[*owner.values(), 0] for owner in model["threads"]],
        "allocators": [list(allocator.values()) for allocator in model["allocators"]],
        "sizes": model["sizes"], "samples": model["samples"], "intervals": model["intervals"],
        "marks": marks, "phases": phases, "pools": model["pools"],
        "failures": model["failures"], "counts": [sample[5:] for sample in model["samples"]],
    }
    out = b""
    for kind, (name, hows) in [*PARTS.items(), COUNTS][:None if has_counts else -1]:
        part = varint(len(items[name])) + b"".join(
            write_column([item[i] for item in items[name]], how) for i, how in enumerate(hows))
        out += varint(kind) + varint(len(part)) + part
    return out


def put_together(superblock, parts):
    """A clean capture of these sections: (kind, stream, segment, bytes)."""
    out, directory = bytearray(superblock), b""
    for kind, stream, segment, section in parts:
        directory += struct.pack("<QB3sIQ", len(out), kind, bytes(3), stream, segment)
        out += section
    offset = len(out)
    out += fmt.section(fmt.DIRECTORY, directory, records=len(parts))
    trailer = struct.pack("<QQ8s", offset, len(out) + 32, fmt.TRAILER_MAGIC)
    return bytes(out + trailer + struct.pack("<Q", fmt.checksum(trailer)))


def sections(data, left_out):
    """The sections of a clean capture but for those of some kinds, as put_together() takes them."""
    parts, offset, end = [], fmt.read_superblock(data)[2], len(data) - 32
    while offset < end:
        part, following = fmt.read_section(data[:end], offset)
        if part.kind not in left_out:
            parts.append((part.kind, part.stream, part.segment, data[offset:following]))
        offset = following
    return parts


def tables_of(payload, last_tick):
    """The records of a payload that an aggregated capture keeps, and the last tick there was."""
    cursor, kept = Cursor(payload), []
    while cursor.left():
        kind, body = cursor.varint(), cursor.blob()
        if kind == fmt.TICKS:
            part = Cursor(body)
            first, count = part.varint(), part.varint()
            last_tick = first + count - 1, sum(part.varint() for _ in range(count))
        elif kind != fmt.BOUND:
            kept.append(varint(kind) + varint(len(body)) + body)
    return kept, last_tick


def aggregated(data):
    """The aggregated capture of what a clean one with a model has recorded."""
    capture, kept, last_tick = fmt.read_capture(data), [], None
    for _, _, _, section in sections(data, (fmt.EVENTS, fmt.MODEL, fmt.DIRECTORY)):
        tables, last_tick = tables_of(fmt.read_section(section, 0)[0].payload, last_tick)
        kept += tables
    if last_tick:
        body = varint(last_tick[0]) + varint(1) + varint(last_tick[1])
        kept.append(varint(fmt.TICKS) + varint(len(body)) + body)
    parts = [(fmt.RECORDS, 0, 0, fmt.section(fmt.RECORDS, b"".join(kept), records=len(kept)))]
    parts += [(fmt.MODEL, 0, 0, fmt.section(fmt.MODEL, part.payload, records=part.records))
              for part in capture.model]
    head = fmt.superblock(capture.uuid, capture.realtime_ns, features=fmt.AGGREGATED)
    return put_together(head, parts)


def with_model(data, payloads, is_first=False, lacks_first=False):
    """A clean capture with these payloads as its MODEL sections, in place of those it has.
    is_first: they stand before all others. lacks_first: the first of them is not there."""
    model = [(fmt.MODEL, 0, 0, fmt.section(fmt.MODEL, payload, records=len(payloads) - 1 - i))
             for i, payload in enumerate(payloads)][lacks_first:]
    others = sections(data, (fmt.MODEL, fmt.DIRECTORY))
    return put_together(data[:fmt.read_superblock(data)[2]],
                        model + others if is_first else others + model)


def without_events(data):
    """A clean capture that has stored what its events come to, and not the events; and its model."""
    capture = fmt.read_capture(data)
    model = json.loads(json.dumps(capture_model.build(capture)))
    stored = with_model(data, [write_model(capture, model)])
    end = (fmt.EVENTS, fmt.DIRECTORY)
    return put_together(data[:fmt.read_superblock(data)[2]], sections(stored, end)), model
