"""The files of this repository, and small readers of them."""
import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CODE = {".c", ".h", ".cc", ".py", ".js", ".mjs", ".sh"}


def files(*suffixes, under=""):
    """Return the repository's files with one of the suffixes, relative to its root."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", under or "."], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE).stdout.decode().split("\0")
    found = [pathlib.PurePosixPath(name) for name in listed if name]
    return [path for path in found
            if path.suffix in suffixes and (ROOT / path).is_file()]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def code_files():
    """Return all files that people write and read as code, scripts without a suffix among them."""
    scripts = [path for path in files("") if text_of_script(path) is not None]
    return files(*CODE) + scripts


def text_of_script(path):
    """Return a file's text when it begins with a "#!" line; None otherwise."""
    with open(ROOT / path, "rb") as file:
        if file.read(2) != b"#!":
            return None
    return text(path)


@dataclasses.dataclass
class Function:
    """A function of a C file, in the layout that clang-format gives it."""
    path: pathlib.PurePosixPath
    name: str
    first: int  # line of its opening brace
    count: int  # lines from brace to brace


def functions(path):
    """Return the functions of a C file: bodies stand between braces in the first column."""
    found = []
    opened = None
    lines = text(path).splitlines()
    for number, line in enumerate(lines, 1):
        if line == "{":
            opened = number
        elif line.startswith("}") and opened is not None:
            if line == "}":
                found.append(Function(path, _name_above(lines, opened), opened,
                                      number - opened + 1))
            opened = None
    return found


def _name_above(lines, brace):
    """Return the name of the function whose body opens at a line."""
    above = []
    for line in reversed(lines[:brace - 1]):
        if not line or line.startswith(("/*", " */", "}", "#")):
            break
        above.insert(0, line)
    head = " ".join(above)
    named = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head))
    return named.group(1) if named else head


def without_comments(source):
    """Return C source with comments and the contents of strings blanked out, lines kept."""
    def blank(found):
        token = found.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        return token[0] * 2
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, source,
                  flags=re.S)
