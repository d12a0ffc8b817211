"""Captures to begin fuzzing with: `python3 tests/fuzz/make_corpus.py FOLDER`.

Payloads are not packed, so that a changed byte changes what is said and not only the packing.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))

import capture_format as fmt  # pylint: disable=wrong-import-position
import captures  # pylint: disable=wrong-import-position

# What the first byte of an input asks for: see fuzz_capture.c.
CHOICES = b"\x00\x03\x11\x37\x69\x81"


def unpacked(data):
    """The sections of a capture without packing and without its end."""
    offset = fmt.SUPERBLOCK_BYTES
    out = bytearray(data[:offset])
    while offset < len(data) - fmt.HEADER_BYTES:
        part, offset = fmt.read_section(data, offset)
        if part.kind == fmt.DIRECTORY:
            break
        is_events = part.kind == fmt.EVENTS
        payload = fmt.encode_events(part.payload, part.coder) if is_events else part.payload
        out += fmt.section(part.kind, payload, records=part.records, pack=False,
                           stream=part.stream, process=part.process, segment=part.segment,
                           coder=part.coder)
    return bytes(out)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    made = {name: make() for name, make in captures.CAPTURES.items() if name not in ("script", "planes", "compact")}
    made.update({f"storm{seed}": captures.storm(seed, steps=80, bound_steps=seed * 7) for seed in range(8)})
    for name, data in made.items():
        for choice in CHOICES:
            (folder / f"{name}{choice}").write_bytes(bytes([choice]) + unpacked(data))


if __name__ == "__main__":
    main()
