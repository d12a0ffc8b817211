/*
 * What a test program tells the test: lines `NAME NUMBER...` on its standard output.
 *
 * The line is made on the stack and written at once, so telling allocates nothing.
 */
#ifndef CONFORMANCE_SAY_H
#define CONFORMANCE_SAY_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Write one line, as printf() would. A test program that cannot tell has failed. */
static inline __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || length > (int)sizeof(line) - 2)
        _exit(99);
    line[length] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)length + 1) != length + 1)
        _exit(99);
}

/* Say where a block is. */
static inline void say_address(const char *name, const void *address)
{
    say("%s %ju", name, (uintmax_t)(uintptr_t)address);
}

/* End the program as failed: what it is about to do cannot be done here. */
static inline __attribute__((format(printf, 1, 2), noreturn)) void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(98);
}

struct say_case {
    const char *name;
    void (*run)(void);
};

/* Run the case that the command line names. */
static inline int say_run(const struct say_case *cases, size_t count, int argc, char **argv)
{
    for (size_t i = 0; i < count; i++)
        if (argc > 1 && strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return 0;
        }
    give_up("no such case");
}

/* The compiler must not see that a block is given back unused. */
static inline void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

#endif
