"""Native addresses are named as they should be, whatever was done to the file, and as others name them."""
import ctypes
import http.server
import os
import pathlib
import random
import re
import shutil
import subprocess
import threading

import pytest

PROGRAM = r"""
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
static uintptr_t base;
static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{ (void)size; (void)data; base = info->dlpi_addr; return 1; }
/* Say where we were called from, and what that place is to be called. */
__attribute__((noinline)) void here(const char *chain, int line)
{ printf("%lx %d %s\n", (unsigned long)((uintptr_t)__builtin_return_address(0) - 1 - base), line, chain); }
#define HERE(chain) do { here(chain, __LINE__); __asm__ volatile(""); } while (0)
static inline __attribute__((always_inline)) void leaf(void) { HERE("leaf middle outer"); }
static inline __attribute__((always_inline)) void middle(void) {
    { HERE("middle outer"); }
    leaf();
}
__attribute__((noinline)) void outer(void) {
    HERE("outer");
    middle();
}
static __attribute__((noinline)) void hidden(void) { HERE("hidden"); }
__attribute__((noinline, section(".text.far"))) void elsewhere(void) { HERE("elsewhere"); }
int main(void)
{
    dl_iterate_phdr(find_base, NULL);
    HERE("main");
    outer();
    hidden();
    elsewhere();
    return 0;
}
"""

CPLUSPLUS = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <variant>
#include <vector>
namespace { struct Hidden { std::string name; int operator()(int x) const { return x + int(name.size()); } }; }
template <typename T> struct Tree {
    std::map<std::string, std::vector<T>> of;
    void add(const std::string &key, T value) { of[key].push_back(value); std::sort(of[key].begin(), of[key].end()); }
};
int main(int count, char **arguments)
{
    Tree<int> a; Tree<double> b; Tree<std::string> c;
    for (int i = 0; i < count; i++) { a.add(arguments[i], i); b.add(arguments[i], i * .5); c.add(arguments[i], "x"); }
    auto hidden = std::make_shared<Hidden>();
    std::function<int(int)> f = *hidden;
    auto twice = [&](auto x) { struct Local { static int of(int y) { return y * 2; } }; return f(x) + Local::of(x); };
    std::variant<int, std::string, std::vector<int>> any = std::vector<int>{1, 2, count};
    int size = std::visit([&](auto &&x) -> int {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, int>) return x; else return (int)x.size(); }, any);
    std::ostringstream out;
    out << twice(size) << a.of.size() << b.of.size() << c.of.size();
    return (int)out.str().size();
}
"""

RUST = r"""
use std::collections::HashMap;
mod inner {
    pub struct Foo<T>(pub T);
    impl<T: std::fmt::Debug> Foo<T> { #[inline(never)] pub fn show(&self) -> String { format!("{:?}", self.0) } }
}
fn main() {
    let mut m: HashMap<String, Vec<u32>> = HashMap::new();
    for i in 0..10u32 { m.entry(format!("{}", i)).or_default().push(i); }
    println!("{}", inner::Foo(m).show());
}
"""

COMPILERS = [name for name in ("gcc", "clang", "clang-14") if shutil.which(name)]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                          errors="replace", **options).stdout


@pytest.fixture(name="probe", scope="session")
def fixture_probe(programs):
    """Name addresses of a file: {address: [(function, file, line, column, is inlined), ...]}."""
    program = programs("name_addresses")

    def name(path, addresses, *options, timeout=120):
        text = run(program, *options, path, input="".join(f"{address:x}\n" for address in addresses),
                   timeout=timeout)
        found = {}
        for line in text.splitlines():
            if line.startswith("0x"):
                places = found.setdefault(int(line, 16), [])
            else:
                _, function, file, number, column, inlined = line.split("\t")
                places.append((function, file, int(number), int(column), inlined == "1"))
        assert set(found) == set(addresses) and all(found.values())
        return found

    return name


def built_with(programs, what):
    """Whether the program under test was built with a library."""
    return what in run(programs("name_addresses"), "-l")


@pytest.fixture(name="has_lines", scope="session")
def fixture_has_lines(programs):
    return built_with(programs, "libdw")


def compile_program(folder, compiler, *options, name="program", source=PROGRAM, suffix=".c"):
    path = folder / (name + suffix)
    path.write_text(source)
    run(compiler, "-O2", *options, path.name, "-o", name, cwd=folder)
    return folder / name


def expected(path):
    """What the program itself says of its addresses: {address: (line, [function, ...])}."""
    out = {}
    for line in run(path).splitlines():
        address, number, chain = line.split(" ", 2)
        out[int(address, 16)] = (int(number), chain.split())
    assert len(out) == 6
    return out


def check_lines(path, found, wanted):
    for address, (line, chain) in wanted.items():
        places = found[address]
        assert [place[0] for place in places] == chain
        assert places[0][2] == line and places[0][1] == str(path.with_suffix(".c"))
        assert [place[4] for place in places] == [True] * (len(chain) - 1) + [False]
        assert all(place[2] > 0 and place[1] == str(path.with_suffix(".c")) for place in places)


def check_functions(found, wanted, known):
    """Only symbols: the functions that are known, and nothing for others."""
    for address, (_, chain) in wanted.items():
        (function, file, line, _, inlined), = found[address]
        assert function == chain[-1] if known(chain[-1]) else re.fullmatch(r"[\w.]+\+0x[0-9a-f]+", function)
        assert (file, line, inlined) == ("", 0, False)


KINDS = [["-g"], ["-gdwarf-4"], ["-gdwarf-5", "-gsplit-dwarf"], ["-g", "-gz"], ["-g", "-flto"],
         ["-g", "-no-pie"], ["-g", "-static"], ["-g", "-Wl,--build-id=none"], ["-g", "-ffunction-sections"]]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_functions_lines_and_inlined_functions_are_found(tmp_path, probe, has_lines, compiler, options):
    if not has_lines:
        pytest.skip("built without libdw")
    if "-flto" in options and compiler != "gcc":
        pytest.skip("needs a linker's plug-in")
    path = compile_program(tmp_path, compiler, *options)
    wanted = expected(path)
    check_lines(path, probe(path, wanted), wanted)


def strip(path, *options):
    run("objcopy", *(options or ("--strip-all",)), path, path.with_suffix(".stripped"))
    path.with_suffix(".stripped").replace(path)


def test_without_debugging_information_functions_are_known(tmp_path, probe):
    path = compile_program(tmp_path, "gcc", "-rdynamic")
    wanted = expected(path)
    check_functions(probe(path, wanted), wanted, lambda name: True)
    strip(path)
    check_functions(probe(path, wanted), wanted, lambda name: name != "hidden")
    path = compile_program(tmp_path, "gcc")
    strip(path)
    check_functions(probe(path, wanted), wanted, lambda name: False)


def test_an_address_in_no_function_has_no_name(tmp_path, probe):
    path = compile_program(tmp_path, "gcc", "-g", "-fno-asynchronous-unwind-tables")
    sizes = {line.split()[3]: (int(line.split()[0], 16), int(line.split()[1], 16))
             for line in run("nm", "-S", path).splitlines() if len(line.split()) == 4}
    begin, size = sizes["main"]
    outside = [0, 1, begin + size, begin - 1, 1 << 20, (1 << 64) - 1]
    inside = {address for start, length in sizes.values() for address in (start, start + length - 1)}
    outside = [address for address in outside if address not in inside]
    for address, places in probe(path, outside).items():
        assert places[-1][0] == f"program+0x{address:x}"


def test_names_in_gnu_debugdata_are_found(tmp_path, probe, programs):
    if not built_with(programs, "liblzma"):
        pytest.skip("built without liblzma")
    path = compile_program(tmp_path, "gcc")
    wanted = expected(path)
    inner = tmp_path / "inner"
    run("objcopy", "--only-keep-debug", path, inner)
    run("xz", "-k", inner)
    strip(path)
    strip(path, f"--add-section=.gnu_debugdata={inner}.xz")
    check_functions(probe(path, wanted), wanted, lambda name: True)
    packed = bytearray(pathlib.Path(f"{inner}.xz").read_bytes())
    packed[len(packed) // 2] ^= 255
    (tmp_path / "damaged.xz").write_bytes(packed)
    strip(path)
    strip(path, "--remove-section=.gnu_debugdata")
    strip(path, f"--add-section=.gnu_debugdata={tmp_path}/damaged.xz")
    check_functions(probe(path, wanted), wanted, lambda name: False)


def build_id(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path)).group(1)


def part(path, debug, *, link=True):
    """Part a program from its debugging information."""
    debug.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", path, debug)
    strip(path, "--strip-all", *([f"--add-gnu-debuglink={debug}"] if link else []))


@pytest.mark.parametrize("where", ["beside", "hidden", "folder", "build-id"])
@pytest.mark.parametrize("has_build_id", [True, False])
def test_separate_debug_files_are_found(tmp_path, probe, has_lines, where, has_build_id):
    if not has_lines or (where == "build-id" and not has_build_id):
        pytest.skip("nothing to find")
    path = compile_program(tmp_path, "gcc", "-g", *([] if has_build_id else ["-Wl,--build-id=none"]))
    wanted = expected(path)
    folder = tmp_path / "system"
    debug = {"beside": tmp_path / "program.debug", "hidden": tmp_path / ".debug/program.debug",
             "folder": pathlib.Path(f"{folder}{tmp_path}/program.debug")}.get(where)
    if debug is None:
        identity = build_id(path)
        debug = folder / ".build-id" / identity[:2] / (identity[2:] + ".debug")
    part(path, debug, link=where != "build-id")
    check_lines(path, probe(path, wanted, "-f", folder), wanted)

    # One of another build is none.
    compile_program(tmp_path, "gcc", "-g", "-DOTHER", *([] if has_build_id else ["-Wl,--build-id=none"]),
                    name="other", source=PROGRAM.replace("int main", "int more; int main"))
    run("objcopy", "--only-keep-debug", tmp_path / "other", debug)
    check_functions(probe(path, wanted, "-f", folder), wanted, lambda name: False)


class DebugServer(http.server.BaseHTTPRequestHandler):
    """A debuginfod with one file."""

    files = {}
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        data = self.files.get(self.path)
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def has_client():
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_client(), reason="no client of debuginfod")
def test_debug_files_come_from_a_server_that_is_named(tmp_path, probe, has_lines, monkeypatch):
    path = compile_program(tmp_path, "gcc", "-g")
    wanted = expected(path)
    debug = tmp_path / "program.debug"
    part(path, debug, link=False)
    DebugServer.files = {f"/buildid/{build_id(path)}/debuginfo": debug.read_bytes()}
    DebugServer.asked.clear()
    debug.unlink()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), DebugServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
        monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
        check_functions(probe(path, wanted), wanted, lambda name: False)
        assert not DebugServer.asked
        monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{server.server_port}/")
        check_functions(probe(path, wanted, "-q"), wanted, lambda name: False)
        assert not DebugServer.asked
        found = probe(path, wanted)
        server.shutdown()
    assert DebugServer.asked
    if has_lines:
        check_lines(path, found, wanted)
    else:
        check_functions(found, wanted, lambda name: True)


def test_a_debug_file_alone_has_the_names(tmp_path, probe, has_lines):
    path = compile_program(tmp_path, "gcc", "-g")
    wanted = expected(path)
    identity = build_id(path)
    part(path, tmp_path / "system/.build-id" / identity[:2] / (identity[2:] + ".debug"), link=False)
    path.unlink()
    found = probe(path, wanted, "-f", tmp_path / "system", "-b", identity)
    if has_lines:
        check_lines(path, found, wanted)
    else:
        check_functions(found, wanted, lambda name: True)


def test_a_file_that_was_replaced_is_not_read(tmp_path, probe):
    path = compile_program(tmp_path, "gcc", "-g")
    wanted = expected(path)
    check_functions(probe(path, wanted, "-b", "00" * 20), wanted, lambda name: False)
    path = compile_program(tmp_path, "gcc", "-g", "-Wl,--build-id=none")
    wanted = expected(path)
    assert probe(path, wanted)[min(wanted)][0][0] in {"outer", "hidden", "main", "here", "elsewhere"} | {"leaf"}
    check_functions(probe(path, wanted, "-c"), wanted, lambda name: False)
    path.unlink()
    check_functions(probe(path, wanted), wanted, lambda name: False)


def test_what_is_no_program_is_not_read(tmp_path, probe):
    path = tmp_path / "thing"
    for content in (b"", b"\x7fELF", b"#!/bin/sh\n" * 100, bytes(5000)):
        path.write_bytes(content)
        assert probe(path, [16])[16] == [("thing+0x10", "", 0, 0, False)]
    path.unlink()
    os.mkfifo(path)
    assert probe(path, [16])[16] == [("thing+0x10", "", 0, 0, False)]
    assert probe(tmp_path, [16])[16][0][0] == f"{tmp_path.name}+0x10"


# Comparison with other programs.

def functions_of(path):
    """(begin, bytes) of all functions."""
    found = [line.split() for line in run("nm", "-S", "--defined-only", path).splitlines()]
    return [(int(words[0], 16), int(words[1], 16)) for words in found
            if len(words) == 4 and words[2] in "tTwWiu"]


def bare(function):
    """A name without what demanglers write in different ways."""
    return re.sub(r"\s|\[clone.*?\]|\(\.[\w.]+\)|\.(?:isra|constprop|part|cold|llvm)[.\d]*$", "", function)


def ask_addr2line(path, addresses):
    out, places = {}, None
    lines = iter(run("addr2line", "-afiC", "-e", path,
                     input="".join(f"{address:x}\n" for address in addresses)).splitlines())
    for line in lines:
        if line.startswith("0x"):
            places = out.setdefault(int(line, 16), [])
        else:
            file, _, number = next(lines).partition(" (disc")[0].rpartition(":")
            places.append((bare(line), os.path.basename(file), int(number) if number.isdigit() else 0))
    return out


def ask_llvm(program, path, addresses):
    text = run(program, "-e", path, "--output-style=LLVM",
               input="".join(f"0x{address:x}\n" for address in addresses))
    out = {}
    for address, block in zip(addresses, text.split("\n\n")):
        lines = block.strip("\n").splitlines()
        out[address] = [(bare(function), os.path.basename(place.rsplit(":", 2)[0]), int(place.rsplit(":", 2)[1]))
                        for function, place in zip(lines[::2], lines[1::2])]
    return out


def make_rust(folder, *options):
    (folder / "program.rs").write_text(RUST)
    run("rustc", "-g", "-O", *options, "program.rs", cwd=folder)
    return folder / "program"


def make(kind, folder):
    if kind.startswith("rust"):
        if not shutil.which("rustc"):
            pytest.skip("no rustc")
        return make_rust(folder, *(["-C", "symbol-mangling-version=v0"] if kind == "rust v0" else []))
    compiler, language = kind.split()
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    if language == "c":
        return compile_program(folder, compiler, "-g")
    return compile_program(folder, compiler, "-g", "-std=c++17", source=CPLUSPLUS, suffix=".cc")


@pytest.mark.parametrize("kind", ["gcc c", "clang-14 c", "g++ c++", "clang++-14 c++", "rust", "rust v0"])
def test_random_addresses_are_named_as_others_name_them(tmp_path, probe, has_lines, programs, kind, is_full):
    """Where two others agree we are right; one alone is right most of the time."""
    if not has_lines or not built_with(programs, "libiberty"):
        pytest.skip("built without libdw or libiberty")
    path = make(kind, tmp_path)
    chance = random.Random(1)
    functions = [of for of in functions_of(path) if of[1] > 0]
    addresses = sorted({begin + chance.randrange(size) for begin, size in
                        chance.choices(functions, k=20000 if is_full else 2000)})
    found = {address: [(bare(place[0]), os.path.basename(place[1]), place[2]) for place in places]
             for address, places in probe(path, addresses).items()}
    others = [ask_addr2line(path, addresses)]
    llvm = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
    if llvm:
        others.append(ask_llvm(llvm, path, addresses))
    # A file without a line is that of the symbol table, which is not asked for.
    agreed = [address for address in addresses
              if all(other.get(address) == others[0].get(address) for other in others) and
              all(place[2] > 0 for place in others[0][address])]
    different = [(hex(address), found[address], others[0][address]) for address in agreed
                 if found[address] != others[0][address]]
    print(f"{kind}: {len(addresses)} addresses, others agree on {len(agreed)}, we differ on {len(different)}")
    assert len(agreed) > 10
    assert len(different) <= (0 if llvm else 0.5 * len(agreed)), different[:3]


# Damage.

def damage(chance, data, tables):
    """A few bytes wrong, most often where structure is."""
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        begin, size = chance.choice(tables)
        at = begin + chance.randrange(max(size, 1))
        if at >= len(data):
            continue
        way = chance.randrange(4)
        if way == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            data[at] = chance.randrange(256)
        elif way == 2:
            data[at:at + 8] = chance.choice([b"\xff" * 8, bytes(8), (1 << 63).to_bytes(8, "little")])[:len(data) - at]
        else:
            length = min(chance.randrange(1, 64), len(data) - at)
            data[at:at + length] = chance.randbytes(length)
    if chance.randrange(8) == 0:
        del data[chance.randrange(len(data)):]


def tables_of(path):
    found = [(0, 64), (64, 512)]
    for line in run("readelf", "-SW", path).splitlines():
        match = re.match(r"\s*\[ *\d+\] (\S+) +\S+ +\S+ (\S+) (\S+)", line)
        if match and re.search(r"debug|symtab|strtab|dynsym|note|dynstr", match.group(1)):
            found.append((int(match.group(2), 16), int(match.group(3), 16)))
    headers = int(re.search(r"Start of section headers: +(\d+)", run("readelf", "-h", path)).group(1))
    return found + [(headers, 64 * 40)] * 3


@pytest.mark.parametrize("kind", ["gcc c", "clang-14 c", "gcc split", "g++ c++"])
def test_damaged_files_do_no_harm(tmp_path, probe, kind, is_full):
    """No crash, no end of time: whatever the file says, every address has an answer."""
    if kind == "gcc split":
        path = compile_program(tmp_path, "gcc", "-g", "-gz")
    else:
        path = make(kind, tmp_path)
    identity = build_id(path)
    good, tables = path.read_bytes(), tables_of(path)
    addresses = [begin + size // 2 for begin, size in functions_of(path)][:200]
    named = 0
    for seed in range(2000 if is_full else 60):
        data = bytearray(good)
        damage(random.Random(seed), data, tables)
        path.write_bytes(data)
        found = probe(path, addresses, "-b", identity)
        named += sum("+0x" not in places[-1][0] for places in found.values())
    assert named > 0
