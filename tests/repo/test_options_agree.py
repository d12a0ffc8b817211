"""The option table, --help, the man page and the completion say the same."""
import re
import subprocess

import pytest

import tree


@pytest.fixture(scope="session")
def ask(binary):
    def run(*arguments):
        return subprocess.run([binary, *arguments], check=True, stdout=subprocess.PIPE,
                              timeout=30).stdout.decode()

    return run


def commands(ask):
    """Return the commands that --help lists, without their aliases."""
    listed = ask("--help").split("\ncommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+)", listed, re.M)


def options_of_help(ask, command):
    """Return (letter or "", name or "") of the options that a command's help lists."""
    listed = ask(command, "--help").split("\noptions:\n")[1].split("\n\n")[0]
    found = re.findall(r"^  (?:(-\w)(?:, )?|    )(--[\w-]+)?", listed, re.M)
    return {pair for pair in found if pair != ("", "")}


def section_of_man(command):
    page = tree.text("docs/man/memtrack.1.scd")
    return re.search(rf"^## memtrack {command} .*?(?=^#)", page, re.M | re.S).group(0)


def test_the_man_page_is_made_from_the_table(ask):
    page = tree.text("docs/man/memtrack.1.scd")
    made = page.split("# COMMANDS\n")[1].split("\n# ENVIRONMENT")[0]
    assert made.strip() == ask("help", "--format=man").strip(), "run script/generate"


def test_the_completion_is_made_from_the_table(ask):
    assert tree.text("docs/completions/memtrack.bash") == ask("help", "--format=bash"), \
        "run script/generate"


def test_man_page_help_and_completion_list_the_same_options(ask):
    completion = tree.text("docs/completions/memtrack.bash")
    assert len(commands(ask)) >= 9
    for command in commands(ask):
        of_help = options_of_help(ask, command)
        assert ("-h", "--help") in of_help
        of_man = {pair for pair in re.findall(r"^\*(?:(-\w)(?:, )?)?(--[\w-]+)?",
                                              section_of_man(command), re.M)}
        if command == "help":
            of_help.discard(("", "--format"))
        assert of_man == of_help, command
        words = re.search(rf'^    {command}(?: \| \w+)?\)\n\s+options="(.*?)"', completion, re.M)
        assert set(words.group(1).split()) == {word for pair in of_help for word in pair if word}


def test_the_parser_knows_each_option_of_help(binary, ask):
    for command in commands(ask):
        for letter, name in options_of_help(ask, command):
            for word in filter(None, (letter, name)):
                ended = subprocess.run([binary, command, word], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       check=False, timeout=30)
                assert b"unknown option" not in ended.stderr, (command, word)


def test_the_parser_knows_no_other_option(binary, ask):
    """An option of one command is not silently taken by another."""
    everything = {name for command in commands(ask)
                  for _, name in options_of_help(ask, command) if name}
    for command in commands(ask):
        own = {name for _, name in options_of_help(ask, command)}
        for name in everything - own:
            if any(other.startswith(name) for other in own):
                continue
            ended = subprocess.run([binary, command, name], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                   timeout=30)
            assert ended.returncode == 2 and b"unknown option" in ended.stderr, (command, name)


def test_the_man_page_names_the_exit_codes():
    page = tree.text("docs/man/memtrack.1.scd").split("# EXIT STATUS")[1].split("\n# ")[0]
    codes = set(re.findall(r"= (\d+),", tree.text("cli/exit_status.h")))
    assert codes and codes <= set(re.findall(r"\d+", page))
