"""The Python programs that are measured: what runs, how much of it, what it may cost."""
import dataclasses

FRAME = """
import sys
sys.setrecursionlimit(10000)
{body}
import time
began = time.process_time()
main({count})
print("cpu", time.process_time() - began)
for line in open("/proc/self/status"):
    if line.startswith("Rss"):
        print(line, end="")
"""


@dataclasses.dataclass(frozen=True)
class Workload:
    """A program; most is the ratio to the plain run that it may cost at most."""
    name: str
    body: str
    count: int
    most: float
    env: tuple = ()
    options: tuple = ()  # of memtrack run and memray run, which call it the same

    def text(self, share=1.0):
        return FRAME.format(body=self.body, count=max(1, int(self.count * share)))


CALL_HEAVY = 1.02

ALL = [
    Workload("fib", """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def main(count):
    for _ in range(count):
        fib(20)
""", 500, CALL_HEAVY),
    Workload("methods", """
class Point:
    def __init__(self, x):
        self._x = x
    @property
    def x(self):
        return self._x
    def moved(self, by):
        return Point(self.x + by)
def main(count):
    point = Point(0)
    for _ in range(count):
        point = point.moved(1)
""", 4_000_000, CALL_HEAVY),
    Workload("list.append", """
def main(count):
    for _ in range(count):
        items = []
        for i in range(1000):
            items.append(i)
""", 25_000, CALL_HEAVY),
    Workload("generators", """
def numbers(n):
    for i in range(n):
        yield i
def doubled(source):
    for i in source:
        yield i * 2
def main(count):
    for _ in range(count):
        sum(doubled(numbers(1000)))
""", 13_000, CALL_HEAVY),
    Workload("bytearray(1000)", """
def main(count):
    for _ in range(count):
        bytearray(1000)
""", 8_000_000, 1.2),
    Workload("bytearray under 8 calls", "\n".join(
        ["def f8():\n    return bytearray(1000)"]
        + [f"def f{n}():\n    return f{n + 1}()" for n in range(7, 0, -1)]
        + ["def main(count):\n    for _ in range(count):\n        f1()"]), 2_500_000, 1.1),
    Workload("json, every malloc traced", """
import json
data = {str(i): [i, float(i), str(i) * 20, {"a": None}] for i in range(3000)}
def main(count):
    for _ in range(count):
        json.loads(json.dumps(data))
""", 50, 1.35, (("PYTHONMALLOC", "malloc"),)),
    Workload("small objects, Python allocators", """
class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y):
        self.x, self.y = x, y
def main(count):
    kept = []
    for i in range(count):
        point = Point(i * 1000, str(i))
        row = point, i, [point.x, point.y]
        kept.append({"row": row, "number": i})
        if len(kept) > 100:
            kept.clear()
""", 1_500_000, 1.7, options=("--trace-python-allocators",)),
    Workload("bytearray at depth 500", """
def down(n, count):
    if n:
        return down(n - 1, count)
    for _ in range(count):
        bytearray(1000)
def main(count):
    down(500, count)
""", 8_000_000, 2.5),
]

# Lines and calls change from event to event; every event reaches malloc.
CHANGING_STACKS = Workload("changing stacks", """
import random
random.seed(7)
def leaf(n):
    if n % 3 == 0:
        return bytearray(600 + n)
    if n % 3 == 1:
        return bytearray(700 + n)
    return bytearray(800 + n)
def left(n, depth):
    return leaf(n) if depth == 0 else right(n + 1, depth - 1)
def right(n, depth):
    if depth == 0:
        return leaf(n)
    return left(n + 2, depth - 1) if n % 2 else right(n + 1, depth - 1)
def main(count):
    kept = [None] * 512
    for i in range(count):
        n = random.getrandbits(9)
        kept[n] = left(n, n % 12)
""", 500_000, 0.0)


def most_for(workload, version):
    """Return the bound of a workload under an interpreter. 3.15 says itself what changed."""
    if workload.name == "bytearray at depth 500" and version >= (3, 15):
        return 1.3
    return workload.most
