#!/usr/bin/env python3
"""Make the page's fixed parts: template, style and script become arrays in a C file.

The script is made of the modules in src/, each behind those that it imports, in one scope. Rules
that make this simple, checked here: imports are relative and name what they import, exports are
named, no two modules have the same top-level name, comments but those of types stand on lines of
their own, no template literal goes over a line's end. Node takes no part in it.

usage: bundle.py TEMPLATE ENTRY OUTPUT.c DEPFILE STYLE...
"""

import base64
import hashlib
import pathlib
import re
import sys

IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([\w.-]+\.js)';\n", re.MULTILINE)
TOP_LEVEL_NAME = re.compile(r"^(?:async )?(?:function\*?|class|const|let|var) (\w+)", re.MULTILINE)
PATTERN_BINDING = re.compile(r"^(?:const|let|var) [\[{]", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
STRAY = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
BLOCK_COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
TYPE_COMMENT = re.compile(r"/\*\* @type (?:(?!\*/).)*\*/ ?")
LINE_COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
BLANK = re.compile(r"^[ \t]+|[ \t]+$|^\n", re.MULTILINE)
BUILD_TIME = ("policy", "style", "script")
RUN_TIME = ("title", "static", "data")


class BundleError(Exception):
    """What a module does that this program does not understand."""


def fail(path, text, position, what):
    """Say where in a module something is wrong."""
    line = text.count("\n", 0, position) + 1
    raise BundleError(f"{path}:{line}: {what}")


def collapse_imports(text):
    """Write an import that goes over several lines on one."""
    return re.sub(r"^import \{[^}]*\}", lambda m: " ".join(m[0].split()), text, flags=re.MULTILINE)


def exported_names(text):
    """Return the names that a module exports."""
    plain = EXPORT.sub("\0", text)
    return {m[1] for m in re.finditer(r"^\0(?:async )?(?:function\*?|class|const|let) (\w+)", plain,
                                      re.MULTILINE)}


class Bundle:
    """Modules in the order in which they can run."""

    def __init__(self):
        self.paths = []
        self.scripts = []
        self.exports = {}
        self.owners = {}

    def add(self, path, importers=()):
        """Add a module behind those that it imports."""
        if path in self.exports:
            return
        if path in importers:
            raise BundleError(f"{path}: imports itself, through {importers[-1]}")
        text = collapse_imports(path.read_text(encoding="utf-8"))
        for match in IMPORT.finditer(text):
            other = path.parent / match[2]
            self.add(other, (*importers, path))
            for name in filter(None, (name.strip() for name in match[1].split(","))):
                if name not in self.exports[other]:
                    fail(path, text, match.start(), f"{other.name} does not export {name}")
        self.exports[path] = exported_names(text)
        self.paths.append(path)
        self.scripts.append(self.strip(path, text))

    def strip(self, path, text):
        """Return a module's code as it stands in one scope with the others'."""
        code = EXPORT.sub("", IMPORT.sub("", text))
        stray = STRAY.search(code) or PATTERN_BINDING.search(code)
        if stray:
            fail(path, code, stray.start(), f"not understood: {stray[0]}")
        for match in TOP_LEVEL_NAME.finditer(code):
            owner = self.owners.setdefault(match[1], path)
            if owner != path:
                fail(path, code, match.start(), f"{match[1]} is also in {owner.name}")
        code = TYPE_COMMENT.sub("", LINE_COMMENT.sub("", BLOCK_COMMENT.sub("", code)))
        for number, line in enumerate(code.split("\n"), 1):
            if line.count("`") % 2 != 0:
                raise BundleError(f"{path}: template literal over a line's end: {line} ({number})")
        return BLANK.sub("", code)

    def script(self):
        """Return the whole script."""
        return escape("(() => {\n'use strict';\n" + "".join(self.scripts) + "})();\n", "\\u%04x")


def escape(text, form):
    """Return a text in ASCII. Served in a wrong encoding, it still has the hash that it had."""
    def units(match):
        data = match[0].encode("utf-16-be")
        return "".join(form % int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    return re.sub(r"[^\x00-\x7f]", units, text)


def strip_style(text):
    """Return a style sheet without comments and indentation."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return escape(BLANK.sub("", plain), "\\%x ")


def content_hash(text):
    """Return what a content security policy calls a text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(script, style):
    """Return the page's policy: its own script and style, and nothing from anywhere."""
    return (f"default-src 'none'; script-src {content_hash(script)}; style-src {content_hash(style)}; "
            "img-src data: blob:; base-uri 'none'; form-action 'none'")


def make_parts(template, style, script):
    """Return the page's texts between the places that the report fills in."""
    values = {"policy": policy(script, style), "style": style, "script": script}
    pieces = re.split(r"\{\{(\w+)\}\}", template)
    names = tuple(pieces[1::2])
    if sorted(names) != sorted(BUILD_TIME + RUN_TIME):
        raise BundleError(f"template: the places are {names}")
    if tuple(name for name in names if name in RUN_TIME) != RUN_TIME:
        raise BundleError(f"template: the report fills in {RUN_TIME} in this order")
    parts = [pieces[0]]
    for name, text in zip(names, pieces[2::2]):
        if name in RUN_TIME:
            parts.append(text)
        else:
            parts[-1] += values[name] + text
    return parts


def c_array(name, data):
    """Return bytes as the definition of an array."""
    lines = [f"static const unsigned char {name}[] = {{"]
    for start in range(0, len(data), 24):
        lines.append("    " + "".join(f"{byte}," for byte in data[start:start + 24]))
    return "\n".join(lines + ["};", ""])


def c_file(parts):
    """Return the C file of the parts."""
    text = ['/* Made by bundle.py. */\n#include "web/assets.h"\n']
    for number, part in enumerate(parts):
        text.append(c_array(f"part_{number}", part.encode()))
    text.append("const struct web_bytes web_parts[WEB_PART_COUNT] = {")
    text.extend(f"    {{part_{number}, sizeof(part_{number})}}," for number in range(len(parts)))
    text.append("};\n")
    return "\n".join(text)


def main(arguments):
    """Bundle; return the exit code."""
    template, entry, output, used, *styles = map(pathlib.Path, arguments)
    bundle = Bundle()
    try:
        bundle.add(entry)
        script = bundle.script()
        if "</script" in script.lower() or "<!--" in script:
            raise BundleError("the script would end its own element")
        style = "".join(strip_style(path.read_text(encoding="utf-8")) for path in styles)
        parts = make_parts(template.read_text(encoding="utf-8"), style, script)
    except (BundleError, OSError) as error:
        print(f"bundle.py: {error}", file=sys.stderr)
        return 1
    output.write_text(c_file(parts), encoding="utf-8")
    inputs = " ".join(str(path) for path in (template, *styles, *bundle.paths))
    used.write_text(f"{output}: {inputs}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
