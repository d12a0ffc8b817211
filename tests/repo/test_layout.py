"""How the repository is laid out: sizes, who may include whom, what stands where."""
import pathlib
import re

import pytest

import tree

# What a folder may include besides itself. Order is the way of the data.
MAY_INCLUDE = {
    "lib/base": set(),
    "lib/python": {"base"},
    "lib/unwind": {"base"},
    "lib/record": {"base", "python", "unwind"},
    "lib/hook": {"base", "python", "unwind", "record"},
    "lib/session": {"base", "python", "unwind", "record", "hook"},
    "reporters/base": set(),
    "reporters/print": {"base"},
    "reporters/capture": {"base"},
    "reporters/symbol": {"base", "capture"},
    "reporters/profile": {"base", "capture"},
    "reporters/collect": {"base", "capture", "symbol", "profile"},
    "reporters/report": {"base", "print", "capture", "symbol", "profile"},
    "reporters/render": {"base", "print", "capture", "symbol", "profile", "report", "web"},
    "reporters/tui": {"base", "print", "capture", "symbol", "profile", "report"},
    "reporters/web": set(),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
MARKS = ("TO" + "DO", "FIX" + "ME", "X" * 3)


def includes(path):
    return INCLUDE.findall(tree.text(path))


def test_files_are_at_most_600_lines():
    long = {str(path): count for path in tree.code_files()
            if (count := len(tree.text(path).splitlines())) > 600}
    assert not long


def test_functions_are_at_most_80_lines():
    long = [function for path in tree.files(".c", ".h") for function in tree.functions(path)
            if function.count > 80]
    assert not long


def test_functions_above_60_lines_are_rare():
    product = [function for folder in ("lib", "reporters", "cli")
               for path in tree.files(".c", under=folder) for function in tree.functions(path)]
    long = [function for function in product if function.count > 60]
    assert len(product) > 100 and len(long) <= 0.02 * len(product), long


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_folders_include_only_what_stands_before_them(folder):
    side, own = folder.split("/")
    wrong = []
    for path in tree.files(".c", ".h", under=folder):
        for included in includes(path):
            first = included.split("/")[0] if "/" in included else own
            if first not in MAY_INCLUDE[folder] | {own, "memtrack"}:
                wrong.append(f"{path} includes {included}")
            elif first != "memtrack":
                assert (tree.ROOT / side / included).exists() or \
                    (tree.ROOT / path).with_name(included).exists() or \
                    included.endswith("_data.h"), f"{path}: {included} is not there"
    assert not wrong


def test_both_sides_know_all_their_folders():
    there = {f"{side}/{path.parts[1]}" for side in ("lib", "reporters")
             for path in tree.files(".c", ".h", under=side) if len(path.parts) > 2}
    assert there <= set(MAY_INCLUDE), "say in MAY_INCLUDE what the new folder may include"


def test_the_command_line_never_includes_the_target_side():
    wrong = [f"{path} includes {included}" for path in tree.files(".c", ".h", under="cli")
             for included in includes(path)
             if (tree.ROOT / "lib" / included).exists()
             and not (tree.ROOT / "reporters" / included).exists()]
    assert not wrong


def test_shared_headers_include_no_side():
    wrong = [f"{path} includes {included}" for path in tree.files(".h", under="include")
             for included in includes(path) if not included.startswith("memtrack/")]
    assert not wrong


def test_the_target_side_uses_no_stdio_and_no_library():
    forbidden = {"stdio.h", "jansson.h", "lz4.h", "Python.h"}
    wrong = [f"{path} includes <{name}>" for path in tree.files(".c", ".h", under="lib")
             for name in re.findall(r"#\s*include\s+<([^>]+)>", tree.text(path))
             if name in forbidden]
    assert not wrong


def test_no_source_includes_a_source():
    wrong = [str(path) for path in tree.files(".c", ".h", ".cc")
             if any(included.endswith((".c", ".cc")) for included in includes(path))]
    assert not wrong


def test_include_guards_are_named_for_their_file():
    wrong = []
    for path in [path for side in ("lib", "reporters", "cli", "include")
                 for path in tree.files(".h", under=side)]:
        last_two = "_".join(pathlib.PurePosixPath(path).with_suffix("").parts[-2:])
        guard = re.sub(r"\W", "_", last_two).upper() + "_H"
        found = re.search(r"^#ifndef (\w+)\n#define (\w+)$", tree.text(path), re.M)
        if not found or found.group(1) != guard or found.group(2) != guard:
            wrong.append(f"{path}: wants {guard}")
    assert not wrong


def test_every_source_says_what_it_is():
    wrong = [str(path) for path in tree.files(".c", ".h", ".cc")
             if not tree.text(path).startswith(("/*\n", "/* "))]
    wrong += [str(path) for path in tree.files(".py")
              if tree.text(path).strip() and not re.match(r'(#!.*\n)?"""', tree.text(path))]
    assert not wrong


def test_nothing_is_left_to_do():
    wrong = [f"{path}: {mark}" for path in tree.code_files() + tree.files(".md", ".scd", ".build")
             for mark in MARKS if re.search(rf"\b{mark}\b", tree.text(path))]
    assert not wrong


def test_no_tabs_no_trailing_spaces_and_a_last_newline():
    wrong = []
    for path in tree.code_files() + tree.files(".md", ".build"):
        content = tree.text(path)
        if content and not content.endswith("\n"):
            wrong.append(f"{path}: no newline at the end")
        if path.suffix in (".c", ".h", ".py") and "\t" in content:
            wrong.append(f"{path}: tab")
        wrong += [f"{path}:{number}: trailing space"
                  for number, line in enumerate(content.splitlines(), 1)
                  if path.suffix != ".md" and line != line.rstrip(" ")]
    assert not wrong


def test_every_source_is_built():
    """A file that no meson.build names is dead."""
    named = "\n".join(tree.text(path) for path in tree.files(".build"))
    wrong = [str(path) for path in tree.files(".c", ".cc")
             if path.name not in named and f"'{path.stem}'" not in named
             and f"'{path.stem.removeprefix('test_')}'" not in named
             and path.parts[0] not in ("examples", "bench")]
    assert not wrong


def test_test_files_have_names_of_their_own():
    """pytest imports them by name alone: of two it runs neither."""
    names = [path.name for path in tree.files(".py", under="tests") if path.name.startswith("test_")]
    assert not {name for name in names if names.count(name) > 1}
