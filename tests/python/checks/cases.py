"""Every way of getting to a line of Python that we could think of, against traceback."""

import asyncio
import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import re
import sys
import tempfile
import threading
import traceback
import weakref

import probe

try:
    import greenlet
except ImportError:
    greenlet = None

skipped = []


def expected(summary):
    return [(frame.filename, frame.lineno, frame.name) for frame in reversed(summary)]


def got():
    return [frame.place() for frame in probe.frames(probe.taken())]


def compare(label, stack, reference):
    if stack == reference:
        probe.passed()
        return
    differences = [(a, b) for a, b in zip(stack, reference) if a != b][:2]
    probe.failed(label, "%d frames for %d, got and expected %r"
                 % (len(stack), len(reference), differences))


def check(label):
    """To be called from one line: walk and traceback in the same line, both ways of the GIL."""
    for library in probe.held, probe.released:
        library.probe_walk(); reference = traceback.extract_stack()
        compare(label, got(), expected(reference))
    return True


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    return check("recursion")


def recursion():
    for depth in 0, 1, 10, 300, 3:
        recurse(depth)


def numbers():
    check("generator")
    yield 1
    [check("generator again") for _ in range(2)]
    yield 2
    yield from more_numbers()


def more_numbers():
    yield check("delegated")
    yield check("delegated again")


def drive():
    for _ in numbers():
        check("between")


def generators():
    drive()
    list(numbers())
    suspended = numbers()
    next(suspended)
    (lambda: next(suspended))()
    [next(suspended) for _ in range(1)]
    list(check("generator expression") for _ in range(3))
    closing = numbers()
    next(closing)
    closing.close()
    check("after close")


def comprehensions():
    [check("list") for _ in range(2)]
    {check("set") for _ in range(2)}
    {i: check("dict") for i in range(2)}
    [[check("nested") for _ in range(2)] for _ in range(2)]


def callbacks():
    (lambda: check("lambda"))()
    list(map(lambda x: check("map"), [1, 2]))
    sorted([3, 1, 2], key=lambda x: check("key") and x)
    functools.reduce(lambda a, b: check("reduce"), [1, 2, 3])
    functools.partial(check, "partial")()
    re.sub("a", lambda match: check("re.sub") and "b", "aaa")
    json.dumps([object()], default=lambda o: check("json"))
    compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    array = (ctypes.c_int * 5)(3, 1, 2, 5, 4)

    def order(a, b):
        check("qsort")
        return 0

    ctypes.CDLL(None).qsort(array, 5, 4, compare_type(order))


def compiled():
    names = {"check": check}
    exec("check('exec')\n\n\ncheck('exec later')", names)
    eval("check('eval')", names)
    eval(compile("[check('eval list') for _ in range(2)]", "<evil>", "eval"), names)
    exec(compile("def q():\n\n  check('q')\n  (lambda:\n    check('q2'))()\nq()",
                 "<\u00fcn\u00efc\u00f6d\u00e9-\u6587\u4ef6\U0001f600>", "exec"), names)
    exec(compile("def \u540d\u524d():\n  check('name')\n\u540d\u524d()", "<surrogate\udc80>", "exec"),
         names)
    for i in range(50):
        source = "\n" * i + "def h%d():\n  check('reused %d')\nh%d()" % (i, i, i)
        exec(compile(source, "<reuse%d>" % i, "exec"), {"check": check})


def raising(depth):
    if depth:
        raising(depth - 1)
    raise RuntimeError


def exceptions():
    try:
        try:
            raise ValueError
        except ValueError:
            check("except")
            raise KeyError
        finally:
            check("finally")
    except KeyError:
        check("except again")
    try:
        raising(5)
    except RuntimeError:
        check("after unwinding")


class Special:
    def __init__(self):
        check("init")

    def __enter__(self):
        check("enter")
        return self

    def __exit__(self, *what):
        check("exit")
        return True

    def __del__(self):
        check("del")

    def __getattr__(self, name):
        check("getattr")
        return 1

    def __getitem__(self, key):
        check("getitem")
        return 1

    def __call__(self):
        check("call")

    def __lt__(self, other):
        check("lt")
        return True

    def __add__(self, other):
        check("add")
        return self

    def __len__(self):
        check("len")
        return 3

    def __iter__(self):
        check("iter")
        return iter([])

    def __contains__(self, item):
        check("contains")
        return True

    @property
    def prop(self):
        check("property")
        return 1

    @staticmethod
    def static():
        check("static")

    @classmethod
    def of_class(cls):
        check("class method")


class Meta(type):
    def __new__(mcs, name, bases, namespace):
        check("meta new")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *arguments):
        check("meta call")
        return super().__call__(*arguments)


class Made(metaclass=Meta):
    check("class body")

    def __init__(self):
        check("init by meta")


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value
        check("slotted init")


def special_methods():
    # Often enough for the interpreter to specialise the calls.
    for _ in range(20):
        with Special() as special:
            special.missing
            special[1]
            special()
            special < special
            special + special
            len(special)
            list(special)
            1 in special
            special.prop
            special.static()
            Special.of_class()
            raise ValueError
    gc.collect()
    for _ in range(30):
        Slotted(1)
        Made()

    class Default(dict):
        def __missing__(self, key):
            check("missing")
            return 1

    Default()[1]
    "%(x)s" % Default()


def outer(a, b=2, *arguments, k=5, **more):
    def inner():
        nonlocal a
        a += 1
        check("closure")
        return a + b + k

    return inner()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        check("wrapper")
        return function(*arguments)

    return wrapper


@decorated
@decorated
def twice():
    check("decorated")


@functools.lru_cache(None)
def cached(n):
    check("cached")
    return cached(n - 1) if n else 0


def calls():
    for _ in range(30):
        outer(1, 2, 3, k=4, z=5)
    twice()
    cached(5)
    (check(
        "many lines"
    ) and
        check("many lines, later"))


async def awaiting(n):
    check("await")
    await asyncio.sleep(0)
    check("awaited")
    if n:
        await awaiting(n - 1)
    async for _ in counting():
        check("async for")


async def counting():
    for i in range(2):
        check("async generator")
        yield i
        await asyncio.sleep(0)


async def gathered():
    await asyncio.gather(*[awaiting(i) for i in range(4)])
    await asyncio.get_running_loop().run_in_executor(None, check, "executor")


def coroutines():
    asyncio.run(gathered())


def thread_body():
    recurse(20)
    check("thread")
    drive()


def threads():
    started = [threading.Thread(target=thread_body) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def traced():
    def trace(frame, event, argument):
        return trace

    sys.settrace(trace)
    recurse(5)
    drive()
    sys.settrace(None)
    sys.setprofile(lambda *what: None)
    recurse(5)
    drive()
    sys.setprofile(None)
    frame = sys._getframe()  # frames that have become objects
    recurse(3)
    assert frame.f_back.f_lineno


def imports():
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "imported_module.py"), "w") as file:
        file.write("import __main__\n__main__.check('import')\n"
                   "def z():\n    __main__.check('imported')\nz()\n")
    sys.path.insert(0, folder)
    importlib.import_module("imported_module")
    importlib.reload(sys.modules["imported_module"])


def finalizers():
    class Referred:
        pass

    referred = Referred()
    reference = weakref.ref(referred, lambda r: check("weak reference"))
    del referred
    gc.collect()
    assert reference() is None


def children():
    """A child starts with an empty table and an empty chain."""
    for _ in range(2):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            probe.forget_codes()
            before = probe.number("pushes")
            check("child")
            recurse(5)
            os._exit(2 if before else 1 if probe.failures or probe.number("faults") else 0)
        _, status = os.waitpid(child, 0)
        probe.check("child", status == 0, "status %#x" % status)
        check("parent after fork")


def greenlets():
    if greenlet is None:
        skipped.append("greenlets: not installed")
        return

    def first():
        check("first greenlet")
        second_greenlet.switch()
        check("first greenlet again")
        recurse(3)
        second_greenlet.switch()
        check("first greenlet at last")

    def second():
        check("second greenlet")
        first_greenlet.switch()
        recurse(5)
        check("second greenlet again")
        first_greenlet.switch()

    first_greenlet, second_greenlet = greenlet.greenlet(first), greenlet.greenlet(second)
    first_greenlet.switch()
    check("after greenlets")
    home = greenlet.getcurrent()

    def deep(depth):
        if depth:
            deep(depth - 1)
        else:
            home.switch()
            check("deep greenlet")
            home.switch()

    # In one line: only the greenlets differ from one switch to the next.
    several = [greenlet.greenlet(functools.partial(deep, depth)) for depth in (3, 30, 90)]
    for turn in range(3):
        for one in several:
            one.switch(); check("home, turn %d" % turn)


IN_ANOTHER = """
import sys
sys.path[:0] = {path!r}
import traceback, probe
def check(label, library):
    library.probe_walk(); reference = traceback.extract_stack()
    probe.check(label, [frame.place() for frame in probe.frames(probe.taken())] ==
                [(f.filename, f.lineno, f.name) for f in reversed(reference)])
def recurse(depth):
    if depth:
        return recurse(depth - 1)
    check("subinterpreter", probe.held)
    if sys.version_info >= (3, 12):
        check("subinterpreter, released", probe.released)
recurse(4)
assert probe.count_passed and not probe.failures, probe.failures
"""


def interpreters_module():
    for name in "_interpreters", "_xxsubinterpreters":
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return None


def run_in_another(module):
    create = {(3, 12): {"isolated": False}, (3, 9): {"isolated": False}}
    more = create.get(sys.version_info[:2], {})
    try:
        other = module.create(**more)
    except TypeError:
        other = module.create()
    try:
        problem = module.run_string(other, IN_ANOTHER.format(path=[os.path.dirname(__file__)]))
        probe.check("subinterpreter", problem is None, str(problem))
    except Exception as problem:
        # Not every version can load ctypes in every kind of subinterpreter.
        text = str(problem)
        if "ImportError" in text:
            skipped.append("subinterpreters: %s" % text)
        else:
            probe.failed("subinterpreter", text)
    check("after subinterpreter")
    module.destroy(other)


def subinterpreters():
    module = interpreters_module()
    if module is None:
        skipped.append("subinterpreters: no module for them")
        return
    run_in_another(module)
    thread = threading.Thread(target=run_in_another, args=(module,))
    thread.start()
    thread.join()


def at_exit():
    check("exit handler")
    probe.finish(skipped=skipped)


atexit.register(at_exit)
for group in (recursion, generators, comprehensions, callbacks, compiled, exceptions,
              special_methods, calls, coroutines, threads, traced, imports, finalizers, children,
              greenlets, subinterpreters):
    group()
probe.check("ready", probe.number("ready") == 1)
