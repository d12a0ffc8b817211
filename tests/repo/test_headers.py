"""Headers document what they declare."""
import re

import pytest

import tree

HEADERS = [path for folder in ("lib", "reporters", "cli", "include")
           for path in tree.files(".h", under=folder)]


def undocumented(source):
    """Return the functions and structs that no comment stands above.

    One comment may stand above several declarations, as long as no empty line parts them; and above
    a family of inline functions, one behind the other.
    """
    bare = tree.without_comments(source).splitlines()
    lines = source.splitlines()
    found = []
    is_documented = False
    depth = 0
    is_after_body = False
    for number, (line, plain) in enumerate(zip(lines, bare)):
        if depth == 0 and not line.strip():
            is_documented = is_documented and is_after_body
        elif depth == 0 and line.strip() and not plain.strip():
            is_documented = True  # a line of comment
        elif depth == 0 and not is_documented:
            named = re.match(r"(?!#|extern \"C\"|_Static_assert)(?:[\w\s*]*?)\b(\w+)\(", plain)
            struct = re.match(r"struct (\w+) \{", plain)
            if named and not plain.startswith((" ", "}")) and named.group(1) != "__attribute__":
                found.append((number + 1, named.group(1)))
            elif struct:
                found.append((number + 1, f"struct {struct.group(1)}"))
        is_after_body = plain == "}" or (is_after_body and not line.strip())
        depth += plain.count("{") - plain.count("}")
    return found


@pytest.mark.parametrize("path", HEADERS, ids=str)
def test_declarations_are_documented(path):
    missing = [f"{path}:{number}: {name}" for number, name in undocumented(tree.text(path))
               if not name.startswith("struct ") and not is_documented_by_sibling(path, name)]
    assert not missing


def is_documented_by_sibling(path, name):
    """Whether a header of one processor defines what arch.h describes."""
    general = path.with_name("arch.h")
    return re.match(r"arch_\w+\.h", path.name) and name in tree.text(general)


def test_the_reader_of_headers_sees_what_is_missing():
    assert undocumented("/* Good. */\nint a(void);\nint b(void);\n\nint c(int x,\n      int y);\n") \
        == [(5, "c")]
    assert undocumented("/* S. */\nstruct s {\n\n    int (*f)(void);\n};\n") == []
    assert undocumented("/* F. */\nint f(void)\n{\n}\n\nint g(void)\n{\n}\n\nint h(void);\n") == []
    assert undocumented("/* F. */\nint f(void);\n\nint g(void)\n{\n}\n") == [(4, "g")]
    assert undocumented("#define A(x) (x)\nvoid f(void);\n") == [(2, "f")]
