# What the other scripts share: sourced, not run. Installs what is missing, builds.
# Everything it prints goes to stderr: stdout belongs to the program that is run.

root=$(dirname "$(dirname "$(readlink -f "$0")")")
build=${MEMTRACK_BUILD:-$root/build}

build_packages="gcc libc6-dev meson ninja-build pkgconf liblz4-dev libxxhash-dev libjansson-dev python3 scdoc"
# Names of native frames; without them the program builds and says less.
build_packages="$build_packages libdw-dev liblzma-dev libiberty-dev"
test_packages="g++ python3-venv chromium bash less procps gdb sqlite3 xz-utils binutils"
# Allocators that programs put in malloc's place, and another C library.
test_packages="$test_packages libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 musl-tools"
# The unwinder that ours is compared with.
test_packages="$test_packages libunwind-dev"
# The loader of 32-bit programs, of any origin.
[ "$(uname -m)" != x86_64 ] || [ -e /lib/ld-linux.so.2 ] ||
    test_packages="$test_packages libc6-i386"
# For the interpreter that script/interpreters builds.
test_packages="$test_packages make libffi-dev libsqlite3-dev zlib1g-dev"
# Node.js of any origin will do, and a foreign one would not let Debian's be installed beside it.
command -v npm >/dev/null || test_packages="$test_packages nodejs npm"
lint_packages="clang-14 clang-format-14 clang-tidy-14"

say() {
    echo "memtrack: $*" >&2
}

# Print those of the packages that are not installed.
missing_packages() {
    for package; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            printf '%s ' "$package"
    done
}

# Install packages that are missing: as root at once, else say what root is to do and stop.
need_packages() {
    if ! command -v dpkg-query >/dev/null; then
        return 0 # another distribution: meson says what it does not find
    fi
    # shellcheck disable=SC2086
    missing=$(missing_packages $1)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        say "some packages are missing. Run this once, then start again:"
        become="su -c"
        ! command -v sudo >/dev/null || become="sudo sh -c"
        say "  $become 'apt-get update && apt-get install --no-install-recommends ${missing% }'"
        exit 1
    fi
    say "installing ${missing% }"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { DEBIAN_FRONTEND=noninteractive apt-get update &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
        </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        say "the packages could not be installed"
        exit 1
    fi
    rm -f "$log"
}

# Run a command with its output kept back, to be shown when it fails.
quietly() {
    log=$(mktemp)
    if "$@" </dev/null >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    cat "$log" >&2
    rm -f "$log"
    say "failed: $*"
    return 1
}

# Tests run in an environment of their own; nothing of it gets near the programs under test.
make_test_python() {
    venv=$build/test-python
    if ! "$venv/bin/python" -c 'import lz4.block, pytest, xdist, xxhash' 2>/dev/null; then
        say "installing what the tests need into $venv"
        quietly python3 -m venv "$venv"
        quietly "$venv/bin/pip" install -q --disable-pip-version-check \
            -r "$root/tests/requirements.txt"
    fi
}

# Configure the build folder once. Arguments: options of meson.
configure() {
    [ -f "$build/build.ninja" ] || quietly meson setup --buildtype=release "$@" "$build" "$root"
}

# The program and its library are older than something they are made of. Folders count: a file that
# was taken away changes its folder.
is_outdated() {
    [ ! -f "$build/built" ] ||
        [ -n "$(find "$root/meson.build" "$root/meson_options.txt" "$root/include" "$root/lib" \
            "$root/reporters" "$root/cli" -name node_modules -prune -o \
            -newer "$build/built" -print -quit)" ]
}
