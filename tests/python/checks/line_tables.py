"""Line of an instruction: the three kinds of table that CPython has had, for checks only.

Each decoder takes the table, the code's first line and an instruction offset in bytes, and returns
a line, or None where the table says that there is none.
"""


def lnotab(table, first_line, offset):
    """Up to 3.9: pairs of unsigned byte increment and signed line increment."""
    line, address = first_line, 0
    for i in range(0, len(table) - 1, 2):
        address += table[i]
        if address > offset:
            break
        line += table[i + 1] - 256 if table[i + 1] >= 128 else table[i + 1]
    return line


def pairs(table, first_line, offset):
    """3.10: pairs of byte length and signed line increment, -128 says that there is no line."""
    line, start = first_line, 0
    if offset < 0:
        return first_line
    for i in range(0, len(table) - 1, 2):
        end = start + table[i]
        delta = table[i + 1] - 256 if table[i + 1] >= 128 else table[i + 1]
        if delta != -128:
            line += delta
        if start <= offset < end:
            return None if delta == -128 else line
        start = end
    return None


class _Bytes:
    def __init__(self, table):
        self.table, self.at = table, 0

    def byte(self):
        self.at += 1
        return self.table[self.at - 1]

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                return value

    def signed(self):
        value = self.unsigned()
        return -(value >> 1) if value & 1 else value >> 1


def location(table, first_line, offset):
    """From 3.11: entries of code units with lines and columns (PEP 657)."""
    stream, line, unit = _Bytes(table), first_line, 0
    if offset < 0:
        return first_line
    while stream.at < len(table):
        head = stream.byte()
        kind, units = head >> 3 & 15, (head & 7) + 1
        has_line = kind != 15
        if kind == 14:
            line += stream.signed()
            for _ in range(3):
                stream.unsigned()
        elif kind == 13:
            line += stream.signed()
        elif kind >= 10 and has_line:
            line += kind - 10
            stream.at += 2
        elif has_line:
            stream.at += 1
        if unit <= offset // 2 < unit + units:
            return line if has_line else None
        unit += units
    return None


DECODERS = {1: lnotab, 2: pairs, 3: location}
