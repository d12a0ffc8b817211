/* Where a thread's state lies, out of the machine code of the function that returns it. */
#include "test.h"

#include "base/arch.h"
#include "python/attached.h"

#include <pthread.h>

static void *state_of_thread(void *argument)
{
    *(uintptr_t *)argument = arch_thread_word(*(intptr_t *)argument);
    return NULL;
}

#if defined(__x86_64__)

/* What compilers and linkers make of: return own; */
__thread void *attached_own;
intptr_t attached_distance; /* as the loader fills in */
extern void *attached_ask(const void *variable);
static unsigned asked;

void *attached_ask(const void *variable)
{
    asked++;
    return variable == (const void *)&attached_distance ? &attached_own : NULL;
}

#define FUNCTION(name_, ...)  \
    extern void *name_(void); \
    __asm__(".text\n" #name_ ":\n" __VA_ARGS__)

FUNCTION(in_program, "mov %fs:attached_own@tpoff, %rax\n ret\n");
FUNCTION(in_program_framed, "endbr64\n push %rbp\n mov %rsp, %rbp\n"
                            "mov %fs:attached_own@tpoff, %rax\n pop %rbp\n ret\n");
FUNCTION(relaxed,
         "mov %fs:0, %rax\n lea attached_own@tpoff(%rax), %rax\n mov (%rax), %rax\n ret\n");
FUNCTION(relaxed_number, "mov $attached_own@tpoff, %rax\n mov %fs:(%rax), %rax\n ret\n");
FUNCTION(initial, "mov attached_distance(%rip), %rax\n mov %fs:(%rax), %rax\n ret\n");
FUNCTION(dynamic, "sub $8, %rsp\n .byte 0x66\n lea attached_distance(%rip), %rdi\n"
                  ".byte 0x66, 0x66, 0x48, 0xe8\n .long attached_ask - . - 4\n"
                  "mov (%rax), %rax\n add $8, %rsp\n ret\n");
FUNCTION(longer, "mov %fs:attached_own@tpoff, %rax\n nop\n ret\n");
FUNCTION(unequal, "sub $8, %rsp\n mov %fs:attached_own@tpoff, %rax\n ret $8\n");
FUNCTION(constant, "xor %eax, %eax\n ret\n");

static void check_found(const char *name, void *(*function)(void))
{
    intptr_t expected = (intptr_t)((uintptr_t)&attached_own - arch_thread_pointer());
    intptr_t found = attached_find(function, true);
    pthread_t thread;
    union {
        intptr_t distance;
        uintptr_t state;
    } seen = {.distance = found};

    test_case("%s", name);
    CHECK(found == expected);
    attached_own = &seen;
    CHECK_EQUAL(arch_thread_word(found), (uintptr_t)&seen);
    /* In another thread it is another word. */
    CHECK(pthread_create(&thread, NULL, state_of_thread, &seen) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(seen.state, 0);
    attached_own = NULL;
}

TEST(what_compilers_and_linkers_make_of_it_is_understood)
{
    attached_distance = (intptr_t)((uintptr_t)&attached_own - arch_thread_pointer());
    check_found("in the program", in_program);
    check_found("with a frame", in_program_framed);
    check_found("relaxed", relaxed);
    check_found("relaxed to a number", relaxed_number);
    check_found("initial-exec", initial);
    check_found("dynamic", dynamic);
}

TEST(a_library_that_came_later_is_not_asked)
{
    CHECK(attached_find(dynamic, false) == 0);
    CHECK_EQUAL(asked, 0);
    CHECK(attached_find(in_program, false) != 0);
}

TEST(anything_else_is_not_known)
{
    CHECK(attached_find(longer, true) == 0);
    CHECK(attached_find(unequal, true) == 0);
    CHECK(attached_find(constant, true) == 0);
    CHECK(attached_find(NULL, true) == 0);
}

#else

TEST(where_the_code_is_not_read_a_call_has_to_tell)
{
    CHECK(attached_find(NULL, true) == 0);
}

#endif
