"""Code that is compiled, run once and released: its address is used again for the next."""

import sys

import probe

COUNT = int(sys.argv[1])
addresses = set()


def check(i, function):
    addresses.add(id(function.__code__))
    probe.held.probe_walk()
    frames = probe.frames(probe.taken())
    found = [(frame.code.name, frame.code.file) for frame in frames[1:3]]
    expected = [("function_%d" % i, "<source %d>" % i), ("<module>", "<source %d>" % i)]
    if found == expected:
        probe.passed()
    else:
        probe.failed("code %d" % i, repr(found))


for number in range(COUNT):
    source = "def function_%d():\n  check(%d, function_%d)\n%s" % (
        number, number, number, "function_%d()" % number)
    exec(compile(source, "<source %d>" % number, "exec"), {"check": check})

# Without re-use this would have shown nothing.
probe.check("addresses were used again", len(addresses) < COUNT * 3 // 4, len(addresses))
probe.finish()
