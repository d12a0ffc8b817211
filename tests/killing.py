"""Programs that are killed at random instants, and how to compare what they counted.

stress_counted writes, for each thread, its id and the number of blocks it was given into a file.
"""
import contextlib
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import time

ENDLESS = 1_000_000_000
LINE_BYTES, FILE_BYTES = 64, 4096
FIRST_BYTES, SIZE_COUNT = 5000, 4096


class Counters:
    """The file in which the program counts, as it stands at any moment."""

    def __init__(self, path, threads):
        self.path, self.threads = path, threads
        with open(path, "wb") as file:
            file.write(bytes(FILE_BYTES))
        descriptor = os.open(path, os.O_RDWR)
        self._map = mmap.mmap(descriptor, FILE_BYTES)
        os.close(descriptor)

    def now(self):
        """Return {tid: rounds} of the threads that have begun."""
        lines = (struct.unpack_from("<QQ", self._map, number * LINE_BYTES)
                 for number in range(self.threads))
        return {tid: rounds for tid, rounds in lines if tid}

    def wait_until_all_run(self, process, seconds=30):
        deadline = time.monotonic() + seconds
        while len(self.now()) < self.threads or not all(self.now().values()):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "the program does not start"
            time.sleep(0.001)


def bytes_of(rounds):
    """Return what a thread was given in so many rounds, in bytes."""
    laps, rest = divmod(rounds, SIZE_COUNT)
    return (laps * (SIZE_COUNT * FIRST_BYTES + SIZE_COUNT * (SIZE_COUNT - 1) // 2)
            + rest * FIRST_BYTES + rest * (rest - 1) // 2)


def recorded(stats):
    """Return {tid: (allocations, bytes)} of a capture's threads."""
    return {thread["tid"]: (thread["allocations"], thread["allocated_bytes"])
            for thread in stats["threads"]}


def assert_same(counted, seen):
    """Every round that was counted is there, and at most the one that was going on besides."""
    for tid, rounds in counted.items():
        allocations, count_bytes = seen.get(tid, (0, 0))
        assert rounds <= allocations <= rounds + 1, (counted, seen)
        assert count_bytes == bytes_of(allocations), (counted, seen)


def assert_is_last_part(counted, seen, is_whole):
    """Each thread's last rounds are there without a gap, up to the one that was counted last, or, of a
    capture that was cut off, one before: each round has a size of its own."""
    for tid, rounds in counted.items():
        allocations, count_bytes = seen[tid]
        ends = [rounds, rounds + 1] if is_whole else range(rounds + 1, allocations - 1, -1)
        assert any(count_bytes == bytes_of(end) - bytes_of(end - allocations) for end in ends), (
            counted, seen)


def holders(path):
    """Return the processes that have a file open: the collector of a capture is among them."""
    wanted, found = os.stat(path), []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            for descriptor in (folder / "fd").iterdir():
                seen = descriptor.stat()
                if (seen.st_dev, seen.st_ino) == (wanted.st_dev, wanted.st_ino):
                    found.append(int(folder.name))
                    break
        except OSError:
            continue  # it has ended meanwhile
    return found


def collector_of(path, seconds=10):
    """Return the pid of the collector that writes a capture."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists():
            for pid in holders(path):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if len(words) > 1 and words[1] == b"collect":
                    return pid
        time.sleep(0.005)
    raise AssertionError(f"{path}: nobody writes it")


def child_named(pid, name, seconds=10):
    """Return the pid of the descendant of pid that runs a program of this name."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        waiting = [pid]
        while waiting:
            parent = waiting.pop()
            try:
                children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text()
                if pathlib.Path(os.readlink(f"/proc/{parent}/exe")).name == name:
                    return parent
            except OSError:
                continue
            waiting += map(int, children.split())
        time.sleep(0.002)
    raise AssertionError(f"{name} does not run below {pid}")


def collector_of_name(path):
    """Return the pid of the collector of a capture that is another file now and then."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[1:2] == [b"collect"] and f"--output={path}".encode() in words:
                return int(folder.name)
    raise AssertionError(f"{path}: nobody writes it")


@contextlib.contextmanager
def running(command, counters_path, pause_us=0):
    """Run memtrack with stress_counted, the command's last word, without end in two threads."""
    counters = Counters(counters_path, 2)
    process = subprocess.Popen([*command, counters_path, "2", str(ENDLESS), str(pause_us)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        counters.wait_until_all_run(process)
        yield process, counters
    finally:
        if process.poll() is None:
            os.kill(child_named(process.pid, "stress_counted"), signal.SIGKILL)
            process.communicate(timeout=60)
