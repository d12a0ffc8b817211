"""A program under memtrack that does what it is told, and memtrack ctl for it."""
import json
import subprocess

# Allocates one block of its own size for each line that it reads, by a function of its own.
PROGRAM = """
import os, sys
kept = []
def serve(line):
    kept.append(bytearray(int(line)))
def main():
    print("ready", os.getpid(), flush=True)
    for line in iter(sys.stdin.readline, ""):
        if line.startswith("drop"):
            del kept[:]
        else:
            serve(line)
        print("done", flush=True)
main()
sys.exit(5)
"""


class Served:
    """A program under memtrack that does what it is told, line by line."""

    def __init__(self, binary, folder, interpreter, *options):
        self.binary = binary
        self.path = folder / "out.bin"
        (folder / "program.py").write_text(PROGRAM)
        self.process = subprocess.Popen(
            [binary, "run", "-q", "-o", self.path, *options, interpreter, folder / "program.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready, pid = self.process.stdout.readline().split()
        assert ready == "ready"
        self.pid = int(pid)

    def tell(self, what):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ctl(self, *arguments, expect=0):
        ended = subprocess.run([self.binary, "ctl", str(self.pid), *arguments],
                               capture_output=True, text=True, timeout=60, check=False,
                               cwd=self.path.parent)
        assert ended.returncode == expect, ended.stderr
        assert ended.stderr.count("\n") == (expect != 0)
        return ended.stdout

    def end(self):
        _, errors = self.process.communicate(timeout=60)
        assert (self.process.returncode, errors) == (5, "")
        return self

    def report(self, kind, path=None):
        return subprocess.run([self.binary, kind, "--json", path or self.path], check=True,
                              capture_output=True, text=True).stdout

    def events(self, path=None):
        """The blocks that it was told to allocate, by their size."""
        return {event["bytes"]: event
                for event in map(json.loads, self.report("dump", path).splitlines())
                if event["op"] == "alloc" and event["bytes"] > 500_000}

    def stats(self, path=None):
        return json.loads(self.report("stats", path))
