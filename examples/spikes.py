"""A program whose memory is low nearly always and high for moments, each for another reason.

    memtrack run -o spikes.bin examples/spikes.py
    memtrack flamegraph spikes.bin

The page's timeline shows three spikes; the flame graph shows the highest, and any that is selected.
"""
import json
import time

PAUSE_S = 0.2


def parse_document():
    text = json.dumps([{"name": f"item {i}", "value": i} for i in range(60_000)])
    return len(json.loads(text))


def read_all_at_once():
    lines = ["x" * 80 for _ in range(200_000)]
    return len("\n".join(lines))


def square_matrix():
    size = 600
    rows = [[float(i * j) for j in range(size)] for i in range(size)]
    return sum(sum(row) for row in rows)


def main():
    for spike in (parse_document, read_all_at_once, square_matrix):
        time.sleep(PAUSE_S)
        print(spike.__name__, spike())
    time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
