"""The CPython interpreters of this machine, found once.

MEMTRACK_TEST_PYTHONS, a list of paths separated by colons, replaces the search.
"""
import dataclasses
import functools
import json
import os
import pathlib
import subprocess

OLDEST = (3, 8)

_QUESTION = """
import json, sys, sysconfig
print(json.dumps({
    "version": sys.version_info[:3],
    "is_free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "is_debug": hasattr(sys, "gettotalrefcount"),
}))
"""


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """One interpreter; name is what test ids show."""
    path: str
    version: tuple
    is_free_threaded: bool
    is_debug: bool

    @property
    def name(self):
        folder = "system" if self.path.startswith("/usr/bin/") else "own"
        suffix = "t" * self.is_free_threaded + "d" * self.is_debug
        return f"{folder}-{'.'.join(map(str, self.version))}{suffix}"


def _ask(path):
    """Return the Interpreter at path, or None when nothing there runs."""
    try:
        answer = subprocess.run([path, "-I", "-c", _QUESTION], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    facts = json.loads(answer.stdout)
    return Interpreter(str(path), tuple(facts["version"]), facts["is_free_threaded"],
                       facts["is_debug"])


@functools.lru_cache(maxsize=None)
def of_script():
    """Return what script/interpreters knows of, in its order: {name: (path, why it is not there)}.

    One of the two is None.
    """
    script = pathlib.Path(__file__).resolve().parent.parent / "script" / "interpreters"
    listed = subprocess.run([script, "-n"], stdout=subprocess.PIPE, text=True, timeout=120,
                            check=True).stdout
    result = {}
    for line in listed.splitlines():
        name, rest = line.split(" ", 1)
        is_missing = rest.startswith("skipped: ")
        result[name] = (None, rest[len("skipped: "):]) if is_missing else (rest, None)
    return result


@functools.lru_cache(maxsize=None)
def _all():
    if "MEMTRACK_TEST_PYTHONS" in os.environ:
        paths = os.environ["MEMTRACK_TEST_PYTHONS"].split(":")
    else:
        root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
        paths = ["/usr/bin/python3"]
        paths += sorted(str(path) for path in root.glob("versions/*/bin/python"))
        paths += [path for path, _ in of_script().values() if path is not None]
    asked = (_ask(path) for path in dict.fromkeys(paths))
    return tuple(sorted({python for python in asked if python is not None},
                        key=lambda python: (python.version, python.path)))


def found():
    """Return the interpreters whose layout is known, oldest first."""
    return [python for python in _all() if python.version >= OLDEST]


def too_old():
    """Return those that are too old to be walked: they must run unharmed all the same."""
    return [python for python in _all() if python.version < OLDEST]


def packages_of(python):
    """Return the folder with the packages that script/interpreters -g got for it, or None."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    folder = pathlib.Path(os.environ.get("MEMTRACK_INTERPRETERS",
                                         cache / "memtrack" / "interpreters"))
    for name, (path, _) in of_script().items():
        if path == python.path and (folder / "packages" / name).is_dir():
            return str(folder / "packages" / name)
    return None
