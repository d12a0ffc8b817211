"""The tools that are compared: each turns a command into that command under the tool."""
import dataclasses
import os
import pathlib
import shutil
import subprocess


@dataclasses.dataclass
class Tool:
    """A way to run a program. capture: where it leaves what it recorded, None when it does not."""
    name: str
    capture: pathlib.Path = None

    def wrap(self, argv):
        return list(argv)

    def clean(self):
        for path in self.capture.parent.glob(self.capture.name + "*") if self.capture else ():
            path.unlink()


@dataclasses.dataclass
class Memtrack(Tool):
    binary: str = ""
    options: tuple = ()

    def wrap(self, argv):
        return [self.binary, "run", "-q", "-f", "-o", str(self.capture), *self.options, *argv]

    def having(self, name, *options):
        """Return it under another name, with options."""
        return dataclasses.replace(self, name=name, options=options)


@dataclasses.dataclass
class Memray(Tool):
    """Only for Python programs: argv is [interpreter, script]; its environment has memray."""
    python: str = ""
    options: tuple = ()

    def wrap(self, argv):
        return [self.python, "-m", "memray", "run", "-q", "-f", "-o", str(self.capture),
                *self.options, *argv[1:]]


@dataclasses.dataclass
class Heaptrack(Tool):
    binary: str = ""
    options: tuple = ()

    def wrap(self, argv):
        return [self.binary, *self.options, "-o", str(self.capture), *argv]


def heaptrack(folder):
    """Return heaptrack when it is installed, else None."""
    binary = shutil.which("heaptrack")
    return binary and Heaptrack("heaptrack", folder / "heaptrack.out", binary)


def memray_for(python, folder, cache):
    """Return memray for an interpreter, installed from PyPI into a cache folder, else None."""
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    home = cache / f"memray-{version}"
    inside = home / "bin" / "python"
    if not inside.exists():
        subprocess.run([python, "-m", "venv", home], check=True)
    have = subprocess.run([inside, "-c", "import memray"], stderr=subprocess.DEVNULL, check=False)
    if have.returncode != 0:
        installed = subprocess.run([inside, "-m", "pip", "install", "-q", "memray"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   check=False)
        if installed.returncode != 0:
            return None
    return Memray("memray", folder / "memray.bin", str(inside))


def python_facts(python):
    """Return (version tuple, whether it runs without a GIL)."""
    text = subprocess.run(
        [python, "-c", "import sys, sysconfig; print(*sys.version_info[:3], "
         "int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    *version, free_threaded = map(int, text.split())
    return tuple(version), bool(free_threaded)


def machine():
    """Return one line about the machine the figures come from."""
    model = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo", encoding="ascii")
                  if line.startswith("model name")), os.uname().machine)
    return f"{model}, {os.cpu_count()} cores, Linux {os.uname().release}"
