"""The numbers of docs/format.md are those of the headers that programs are made from."""

import re

import tree

FORMAT, PROTOCOL = "include/memtrack/format.h", "include/memtrack/protocol.h"


def enum_of(header, name):
    """The constants of an enum of a header, as {name without its prefix: number}."""
    body = re.search(rf"^enum {name} {{\n(.*?)^}};", tree.text(header), re.MULTILINE | re.DOTALL)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    numbers = re.findall(r"(\w+) = (?:1u << )?(\d+)", body)
    return {constant: int(number) for constant, number in numbers
            if not constant.endswith(("_COUNT", "_MAY_IGNORE"))}


def line_of(name):
    """The numbers that a line of section 5 gives."""
    line = re.search(rf"^\| `{name}`[^|]*\| (.*) \|$", tree.text("docs/format.md"), re.MULTILINE)[1]
    return {int(number) for number in re.findall(r"(?:^|, )(\d+) ", line)}


def rows_of(heading):
    """The rows of the first table behind a heading whose first cell is a number, as {number: name}."""
    part = tree.text("docs/format.md").split(heading, 1)[1]
    rows = re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", part.split("\n## ")[0], re.MULTILINE)
    return {int(number): name for number, name in rows}


def test_numbers_shared_with_the_tracker():
    for name in "pool_option", "pool_counter", "frame_special", "sync_why", "life":
        assert line_of(name) == set(enum_of(PROTOCOL, name).values()), name


def test_kinds_of_records():
    kinds = {number: name.removeprefix("RECORD_")
             for name, number in enum_of(FORMAT, "record_kind").items()}
    assert rows_of("## 2. RECORDS") == kinds


def test_operations_of_events():
    operations = {number: name.removeprefix("EVENT_")
                  for name, number in enum_of(FORMAT, "event_op").items()}
    assert rows_of("## 3. EVENTS") == operations


def test_fields_of_records():
    page = tree.text("docs/format.md")
    for enum, record in [("session_field", "SESSION"), ("process_field", "PROCESS"),
                         ("thread_field", "THREAD"), ("summary_field", "SUMMARY")]:
        text = re.search(rf"^\| \d+ \| {record} \| (.*) \|$", page, re.MULTILINE)[1]
        numbers = set(map(int, re.findall(r"(?:; |fields[^:]*: )(\d+) ", text)))
        assert numbers == set(enum_of(FORMAT, enum).values()), record
