/*
 * The sanitizers that a program can be built with and that have a malloc of their own: how they are
 * recognised by the command, which refuses such a program, and by the library, which leaves it.
 *
 * With another library before theirs some end the program at once, and the others lose the
 * program's frames from their reports. UBSan needs nothing of this.
 */
#ifndef MEMTRACK_SANITIZER_H
#define MEMTRACK_SANITIZER_H

#include <stddef.h>

struct sanitizer {
    const char *name;      /* for users */
    const char *gcc;       /* how the name of its library begins; NULL: there is none */
    const char *clang;     /* likewise */
    const char *in_static; /* what a program exports that contains it; NULL: see below */
};

/* As of gcc 12 and clang 14. */
static const struct sanitizer sanitizers[] = {
    {"AddressSanitizer", "libasan.so", "libclang_rt.asan", "__asan_init"},
    {"HWAddressSanitizer", "libhwasan.so", "libclang_rt.hwasan", "__hwasan_init"},
    {"LeakSanitizer", "liblsan.so", "libclang_rt.lsan", "__lsan_init"},
    {"ThreadSanitizer", "libtsan.so", "libclang_rt.tsan", "__tsan_init"},
    {"MemorySanitizer", NULL, "libclang_rt.msan", "__msan_init"},
    {"MemProf", NULL, "libclang_rt.memprof", "__memprof_init"},
    /*
     * gcc lets a program export what the C library also defines, and nothing else: this is a part
     * of stdio that sanitizers wrap, and nobody else does.
     */
    {"a sanitizer", NULL, NULL, "__overflow"},
};

enum {
    SANITIZER_COUNT = sizeof(sanitizers) / sizeof(sanitizers[0]),
};

#endif
