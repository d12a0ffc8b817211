"""Announcements: names in all of CPython's string forms, long ones whole, and a refusing writer."""

import sys

import probe


def walk():
    probe.held.probe_walk()
    return probe.frames(probe.taken())


def announced(name, file):
    """The code of a function of this name in a file of this name, as it was announced."""
    names = {"walk": walk}
    exec(compile("def f():\n    return walk()\nresult = f()", file, "exec"), names)
    names["f"].__code__ = names["f"].__code__.replace(co_name=name, **(
        {"co_qualname": name} if sys.version_info >= (3, 11) else {}))
    return names["f"]()[1].code


def texts():
    for name in ("f", "\xe9t\xe9", "\u540d\u524d", "\U0001f600", "a\udc80b", "x" * 3000,
                 "\u540d" * 2000, "\U0001f600" * 1000):
        for file in ("<file>", "<\xfc>", "<\u6587\u4ef6>", "<\U0001f600\udcff>", "/" + "d/" * 20000):
            code = announced(name, file)
            probe.check("name", code.name == name and code.file == file, ascii((name, file))[:80])


def long_table():
    """A line table of hundreds of kilobytes, whole."""
    names = {"walk": walk}
    source = "def f(x):\n" + "    x = x + 1\n" * 50000 + "    return walk()\n"
    exec(compile(source, "<long>", "exec"), names)
    frame = names["f"](0)[1]
    table = names["f"].__code__.co_linetable if sys.version_info >= (3, 10) else (
        names["f"].__code__.co_lnotab)
    probe.check("long table", frame.code.table == table and len(table) > 90000, len(table))
    probe.check("long table's line", frame.code.line(frame.offset) == 50002)


def too_long():
    before = probe.number("names_lost")
    code = announced("f", "/" + "x" * (1 << 20))
    probe.check("cut", code.file.startswith("/xxx") and len(code.file) > 1000000, len(code.file))
    probe.check("cut is counted", probe.number("names_lost") > before)


def refusal():
    before = probe.number("names_lost")

    def unnamed():
        return walk()

    probe.held.probe_refuse(True)
    frames = unnamed()
    probe.check("unnamed", frames[1].code is None)
    probe.check("unnamed is counted", probe.number("names_lost") > before)
    probe.held.probe_refuse(False)
    probe.check("named at last", unnamed()[1].code.name.endswith("unnamed"))


def forgetting():
    before = walk()
    probe.held.probe_forget()
    after = walk()
    probe.check("the whole stack again", len(after) == len(before) == 3 and
                [frame.place() for frame in after[2:]] == [frame.place() for frame in before[2:]])


walk()
texts()
long_table()
too_long()
refusal()
forgetting()
probe.finish()
