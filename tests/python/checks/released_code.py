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



def check_module(i):
    # Addresses come back after one module or a few: so each, every other, every third is walked.
    if i % (1 + i * 3 // COUNT):
        return
    code = sys._getframe(1).f_code
    again.append(id(code) == last[0])
    last[0] = id(code)
    del code
    probe.held.probe_walk()
    walked = probe.frames(probe.taken())[1]
    probe.check("module %d" % i, walked.code.file == "<module %d>" % i, walked.code.file)


# Released at once: the next one may stand at its address, in its frame, at its instruction.
again, last = [], [0]
for number in range(COUNT):
    exec(compile("check_module(i)", "<module %d>" % number, "exec"),
         {"check_module": check_module, "i": number})
# The allocator of free-threaded builds gives addresses back too late for this.
if getattr(sys, "_is_gil_enabled", lambda: True)():
    probe.check("the same address as at the last walk", sum(again) > COUNT // 20, sum(again))

# Without re-use this would have shown nothing.
probe.check("addresses were used again", len(addresses) < COUNT * 3 // 4, len(addresses))
probe.finish()
