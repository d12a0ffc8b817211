"""What docs/format.md builds everything from: integers, bytes, the operations of events."""

ALLOC, FREE, MAP, UNMAP, PROTECT, UNDO, FAIL, SYNC, NOTE = range(1, 10)
WIDE = 15
NOTE_LOST, NOTE_LIFE, NOTE_CLOCK, NOTE_MARK = 1, 2, 3, 4

ADDRESS_MASK = (1 << 57) - 1
U32 = 0xFFFFFFFF


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fold(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def unfold(value):
    return -(value >> 1) - 1 if value & 1 else value >> 1


class Cursor:
    """Bytes being read from the front."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.left():
            raise ValueError("bytes end too early")
        piece = self.data[self.at:self.at + count]
        self.at += count
        return piece

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if (shift and byte == 0) or value >> 64:
                    raise ValueError("varint that is not the shortest")
                return value
        raise ValueError("varint of more than 64 bits")

    def blob(self):
        return self.take(self.varint())
