"""Run commands in turns and take the medians.

Everything that is compared runs in one interleaved row: first each variant once, then each again, in
a new order. What a machine does meanwhile then hits all of them alike.
"""
import ctypes
import dataclasses
import os
import resource
import statistics
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass
class Sample:
    """One run. Times in seconds."""
    program_cpu: float  # of the measured part, as the program says it itself
    tree_cpu: float     # of everything that ran: the program, the tool, its collector
    wall: float
    peak_rss: int       # bytes, of the largest process waited for
    words: dict         # all that the program said: lines `NAME NUMBER`
    text: str = ""      # all of it, as it came


def adopt_orphans():
    """Become the parent of what our children leave behind: a collector's CPU time is then seen."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def _reap_all():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def _cpu(usage):
    return usage.ru_utime + usage.ru_stime


def _words(text):
    """Take the lines `NAME NUMBER` (also `NAME: NUMBER kB`) out of a program's output."""
    said = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" " if ":" not in line else ":")
        try:
            said[name] = float(rest.split()[0])
        except (IndexError, ValueError):
            continue
    return said


def run_once(argv, env=None):
    """Run a command and all that it leaves behind to the end. Returns Sample."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    ended = subprocess.run([str(word) for word in argv], env={**os.environ, **(env or {})},
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
    wall = time.monotonic() - began
    _reap_all()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != 0:
        raise RuntimeError(f"{argv}: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    words = _words(ended.stdout)
    return Sample(words.get("cpu", 0.0), _cpu(after) - _cpu(before), wall,
                  after.ru_maxrss * 1024, words, ended.stdout)


def in_turns(commands, rounds):
    """Run {name: function returning Sample} so many rounds. Returns {name: [Sample]}."""
    samples = {name: [] for name in commands}
    names = list(commands)
    for number in range(rounds):
        for name in names[number % len(names):] + names[:number % len(names)]:
            samples[name].append(commands[name]())
    return samples


def median(samples, field):
    """Return the median of a field, or of a word that the program said."""
    return statistics.median(getattr(sample, field, None) if hasattr(sample, field)
                             else sample.words[field] for sample in samples)


def peak_rss_of(argv):
    """Run a command in a process of its own; return (Sample of it, its peak resident bytes)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        sample = run_once(argv)
        os.write(writer, f"{sample.wall} {sample.tree_cpu} {sample.peak_rss}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        wall, cpu, rss = answer.read().split()
    os.waitpid(child, 0)
    return Sample(float(cpu), float(cpu), float(wall), int(rss), {})
