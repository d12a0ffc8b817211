"""How long the names of native frames take: random addresses of libraries with debugging information.

Each address is named with all that was inlined there, and its file and line. Beside it binutils' addr2line,
which is given the same addresses once.
"""
import pathlib
import random
import re
import subprocess

import figures

UNITS = 6  # of the library in C++
SOURCE = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct Key { std::string name; int number; bool operator<(const Key &o) const { return name < o.name; } };
template <typename T> struct Tree {
    std::map<Key<UNIT>, std::vector<T>> of;
    void add(const std::string &key, T value) {
        auto &list = of[Key<UNIT>{key, UNIT}];
        list.push_back(value);
        std::sort(list.begin(), list.end());
    }
};
#define ENTER(n) enter_ ## n
#define NAMED(n) ENTER(n)
extern "C" int NAMED(UNIT)(int count, char **arguments)
{
    Tree<int> a; Tree<double> b; Tree<std::string> c;
    for (int i = 0; i < count; i++) { a.add(arguments[i], i); b.add(arguments[i], i); c.add(arguments[i], "x"); }
    std::regex pattern("(a|b)*c[0-9]+[[:alpha:]]?");
    std::smatch match;
    std::string line = arguments[0];
    std::unordered_map<std::string, std::shared_ptr<Key<UNIT>>> shared;
    shared[line] = std::make_shared<Key<UNIT>>();
    std::variant<int, std::string, std::vector<Key<UNIT>>> any = std::vector<Key<UNIT>>(3);
    int size = std::visit([](auto &&x) -> int {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, int>) return x; else return (int)x.size(); }, any);
    std::function<int(int)> twice = [&](int x) { return 2 * x + size; };
    std::multiset<std::pair<int, std::string>> sorted;
    sorted.emplace(twice(count), line);
    std::ostringstream out;
    if (std::regex_search(line, match, pattern)) out << match.str();
    return (int)(out.str().size() + sorted.size() + a.of.size() + b.of.size() + c.of.size());
}
"""


def _sections(path):
    """{name: (address, bytes)}"""
    said = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return {name: (int(address, 16), int(size, 16)) for name, address, size in
            re.findall(r"\] (\.\S+) +\S+ +(\w+) \w+ (\w+)", said)}


def _library(folder):
    """Compile it, two units at a time."""
    (folder / "unit.cc").write_text(SOURCE)
    objects = [folder / f"unit{i}.o" for i in range(UNITS)]
    for first in range(0, UNITS, 2):
        running = [subprocess.Popen(["g++", "-std=c++17", "-O2", "-g", "-fPIC", f"-DUNIT={first + i}", "-c",
                                     folder / "unit.cc", "-o", objects[first + i]]) for i in range(2)]
        if any(process.wait() for process in running):
            raise RuntimeError("g++ failed")
    library = folder / "libunits.so"
    subprocess.run(["g++", "-shared", "-o", library, *objects], check=True)
    return library


def _python_library(python):
    """The interpreter's library, or itself, when it has debugging information."""
    code = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('INSTSONAME'))"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    path = pathlib.Path(said.stdout.strip())
    return path if said.returncode == 0 and path.is_file() and ".debug_info" in _sections(path) else None


def _row(setting, path, count, most):
    sections = _sections(path)
    begin, size = sections[".text"]
    chance = random.Random(1)
    addresses = "".join(f"{begin + chance.randrange(size):x}\n" for _ in range(count))
    probe = pathlib.Path(setting.loops).parents[1] / "tests" / "symbols" / "name_addresses"
    given = setting.folder / "addresses"
    given.write_text(addresses)

    def seconds(*argv):
        with given.open() as stdin:
            ended = subprocess.run(["/usr/bin/env", "bash", "-c", 'TIMEFORMAT=%R; time "$@" >/dev/null', "-", *argv],
                                   stdin=stdin, capture_output=True, text=True, check=True)
        return float(ended.stderr.split()[-1])

    wall = sorted(seconds(probe, "-s", path) for _ in range(min(setting.rounds, 5)))
    wall = wall[len(wall) // 2]
    name = f"{count} addresses of {path.name}, {sections['.debug_info'][1] / 1e6:.0f} MB of .debug_info"
    return figures.Row(name, f"addr2line {seconds('addr2line', '-fiC', '-e', path):.2f} s", f"{wall:.2f} s",
                       f"{most:.1f} s", wall <= most)


def symbols(setting):
    """Wall time, of the whole program."""
    paths = [_library(setting.folder)] + [path for path in map(_python_library, setting.pythons) if path]
    count = int(100_000 * setting.share)
    for path in paths:
        yield _row(setting, path, count, 2.0)
        yield _row(setting, path, count // 50, 0.5)
