/*
 * The names of the dynamic loader.
 *
 * Who calls dlopen() matters: the real one looks where the caller's RUNPATH says, in the caller's
 * namespace. So ours leave no frame of their own and jump: a thread-local mark, a mask over the
 * flags, the real function. The mark is seen by the thread's own next event (context.h).
 */
#include "hook/loader.h"

#include "hook/real.h"
#include "python/loaded_symbol.h"
#include "record/context.h"

#include <dlfcn.h>
#include <stdint.h>

static void *late_dlopen(const char *name, int flags);
static void *late_dlmopen(Lmid_t space, const char *name, int flags);

/* Read by the jumps below. */
__attribute__((used)) void *(*loader_real_dlopen)(const char *name, int flags) = late_dlopen;
__attribute__((used)) void *(*loader_real_dlmopen)(Lmid_t space, const char *name,
                                                   int flags) = late_dlmopen;
__attribute__((used)) uint32_t loader_flags_mask = UINT32_MAX;

/* name_, and the register (32 bits) that holds the flags when it is called. */
#if defined(__x86_64__)
#define JUMP(name_, flags_)                                  \
    __asm__(".pushsection .text\n"                           \
            ".globl " #name_ "\n"                            \
            ".type " #name_ ", @function\n"                  \
            ".p2align 4\n" #name_ ":\n"                      \
            ".cfi_startproc\n"                               \
            "endbr64\n"                                      \
            "movq context_has_loaded@gottpoff(%rip), %rax\n" \
            "movb $1, %fs:(%rax)\n"                          \
            "andl loader_flags_mask(%rip), %" flags_ "\n"    \
            "jmp *loader_real_" #name_ "(%rip)\n"            \
            ".cfi_endproc\n"                                 \
            ".size " #name_ ", . - " #name_ "\n"             \
            ".popsection\n")
#define FLAGS_DLOPEN  "esi"
#define FLAGS_DLMOPEN "edx"
#elif defined(__aarch64__)
#define JUMP(name_, flags_)                                       \
    __asm__(".pushsection .text\n"                                \
            ".globl " #name_ "\n"                                 \
            ".type " #name_ ", %function\n"                       \
            ".p2align 4\n" #name_ ":\n"                           \
            ".cfi_startproc\n"                                    \
            "hint #34\n" /* bti c */                              \
            "mrs x16, tpidr_el0\n"                                \
            "adrp x17, :gottprel:context_has_loaded\n"            \
            "ldr x17, [x17, :gottprel_lo12:context_has_loaded]\n" \
            "add x16, x16, x17\n"                                 \
            "mov w17, #1\n"                                       \
            "strb w17, [x16]\n"                                   \
            "adrp x16, loader_flags_mask\n"                       \
            "ldr w16, [x16, :lo12:loader_flags_mask]\n"           \
            "and " flags_ ", " flags_ ", w16\n"                   \
            "adrp x16, loader_real_" #name_ "\n"                  \
            "ldr x16, [x16, :lo12:loader_real_" #name_ "]\n"      \
            "br x16\n"                                            \
            ".cfi_endproc\n"                                      \
            ".size " #name_ ", . - " #name_ "\n"                  \
            ".popsection\n")
#define FLAGS_DLOPEN  "w1"
#define FLAGS_DLMOPEN "w2"
#endif

JUMP(dlopen, FLAGS_DLOPEN);
JUMP(dlmopen, FLAGS_DLMOPEN);

void loader_resolve(void)
{
    void *function = dlsym(RTLD_NEXT, "dlopen");

    if (function != NULL)
        loader_real_dlopen = (void *(*)(const char *, int))function;
    function = dlsym(RTLD_NEXT, "dlmopen");
    if (function != NULL)
        loader_real_dlmopen = (void *(*)(Lmid_t, const char *, int))function;
}

/* The caller's scope is lost here; it is the one call between libdl's loading and this. */
static void *late_dlopen(const char *name, int flags)
{
    loader_resolve();
    return loader_real_dlopen != late_dlopen ? loader_real_dlopen(name, flags) : NULL;
}

static void *late_dlmopen(Lmid_t space, const char *name, int flags)
{
    loader_resolve();
    return loader_real_dlmopen != late_dlmopen ? loader_real_dlmopen(space, name, flags) : NULL;
}

void loader_strip_deepbind(void)
{
    loader_flags_mask = ~(uint32_t)RTLD_DEEPBIND;
}

/* Stops at the first object that defines malloc, which in the list's order is the one that counts. */
static int look_for_malloc(struct dl_phdr_info *info, size_t info_bytes, void *ret_malloc)
{
    struct loaded_module module;

    (void)info_bytes;
    if (!loaded_module_read(info, &module))
        return 0;
    *(uintptr_t *)ret_malloc = loaded_symbol(&module, "malloc");
    return *(uintptr_t *)ret_malloc != 0;
}

bool loader_finds_our_malloc(void)
{
    uintptr_t first = 0;

    dl_iterate_phdr(look_for_malloc, &first);
    return first == (uintptr_t)hook_malloc;
}
