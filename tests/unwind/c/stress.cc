/*
 * Stacks of all kinds, with an allocation on top: stress SCENE [ROUNDS [LIBRARY LIBRARY]].
 *
 * Prints the number of rounds when it is done. Nothing of memtrack is linked in.
 */
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__clang__)
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noinline, noipa))
#endif

static CALLED void allocate(size_t size)
{
    void *volatile block = malloc(size);

    free(block);
    __asm__ volatile("");
}

static CALLED unsigned use(void *memory, size_t size)
{
    memset(memory, 1, size);
    allocate(size);
    __asm__ volatile("" ::"r"(memory) : "memory");
    return static_cast<unsigned char *>(memory)[size / 2];
}

static CALLED unsigned with_vla(unsigned size)
{
    char memory[size];

    return use(memory, size) + 1;
}

static CALLED unsigned with_alloca(unsigned size)
{
    unsigned sum = 0;

    for (unsigned i = 1; i < 4; i++)
        sum += use(alloca(size * i), size * i);
    return sum;
}

static CALLED unsigned aligned(unsigned size)
{
    alignas(64) char memory[128];

    return use(memory, 128) + use(memory, size % 100 + 1) + 1;
}

static CALLED unsigned aligned_vla(unsigned size)
{
    alignas(64) char memory[128];
    char other[size];

    return use(memory, 128) + use(other, size) + 1;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static CALLED unsigned with_vectors(unsigned size)
{
    typedef int wide __attribute__((vector_size(32)));
    volatile wide a = {int(size), 1, 2, 3, 4, 5, 6, 7};
    char other[size];
    wide b = a + a;

    allocate(size);
    return use(other, size) + unsigned(b[0] + a[1]);
}
#endif

static void run_frames(unsigned rounds)
{
    for (unsigned i = 1; i <= rounds; i++) {
        with_vla(i % 500 + 1);
        with_alloca(i % 300 + 1);
        aligned(i % 100 + 1);
        aligned_vla(i % 700 + 1);
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2"))
            with_vectors(i % 200 + 1);
#endif
    }
}

struct Allocates {
    explicit Allocates(unsigned size) : text(size, 'a')
    {
    }
    ~Allocates()
    {
        try {
            allocate(text.size());
            if (text.size() % 7 == 0)
                throw std::runtime_error(text + "inside");
        } catch (const std::runtime_error &) {
            allocate(text.size() * 2);
        }
    }
    std::string text;
};

static CALLED unsigned throw_from(unsigned depth, unsigned size)
{
    Allocates on_stack(size % 90 + 20);

    if (depth == 0)
        throw std::runtime_error(on_stack.text);
    return size == 0 ? 0 : throw_from(depth - 1, size + 1) + 1;
}

static void run_exceptions(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        try {
            throw_from(i % 12, i + 1);
        } catch (const std::exception &error) {
            allocate(strlen(error.what()));
        }
    }
}

static jmp_buf before;

static CALLED void jump_from(unsigned depth)
{
    char memory[64];

    use(memory, sizeof(memory));
    if (depth == 0)
        longjmp(before, 1);
    if (depth < 1000)
        jump_from(depth - 1);
    __asm__ volatile("");
}

static void run_jumps(unsigned rounds)
{
    static unsigned i;

    for (i = 0; i < rounds; i++) {
        if (setjmp(before) == 0)
            jump_from(i % 20);
        allocate(i % 50);
    }
}

static void handle(int)
{
    char memory[100];

    use(memory, sizeof(memory));
    with_vla(50);
}

/* Handlers on a stack of their own, on the one that was interrupted, and in one another. */
static void run_handlers(unsigned rounds)
{
    stack_t own = {};
    struct sigaction action = {};

    own.ss_size = 128 * 1024;
    own.ss_sp = malloc(own.ss_size);
    if (sigaltstack(&own, nullptr) != 0)
        abort();
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, nullptr);
    for (unsigned i = 0; i < rounds; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
        kill(getpid(), i % 2 == 0 ? SIGUSR1 : SIGUSR2);
        allocate(i % 70);
    }
}

static ucontext_t main_context, coroutines[3];

static CALLED void coroutine_deeper(unsigned own, unsigned depth)
{
    with_vla(depth + 1);
    if (depth > 0)
        return coroutine_deeper(own, depth - 1);
    swapcontext(&coroutines[own], &coroutines[(own + 1) % 3]);
    allocate(depth + 10);
}

static void coroutine(int own)
{
    for (unsigned depth = 0;; depth++) {
        coroutine_deeper(unsigned(own), depth % 9);
        allocate(20);
        if (own == 2)
            swapcontext(&coroutines[2], &main_context);
    }
}

/* Stacks with nothing behind their end. */
static void *make_stack(size_t size)
{
    auto *memory = static_cast<char *>(
        mmap(nullptr, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

    if (memory == MAP_FAILED || mprotect(memory + size, 4096, PROT_NONE) != 0)
        abort();
    return memory;
}

static void make_coroutine(int own)
{
    const size_t size = 64 * 1024;

    getcontext(&coroutines[own]);
    coroutines[own].uc_stack.ss_sp = make_stack(size);
    coroutines[own].uc_stack.ss_size = size;
    makecontext(&coroutines[own], reinterpret_cast<void (*)()>(coroutine), 1, own);
}

static void run_coroutines(unsigned rounds)
{
    for (int i = 0; i < 3; i++)
        make_coroutine(i);
    for (unsigned i = 0; i < rounds; i++) {
        swapcontext(&main_context, &coroutines[0]);
        allocate(30);
    }
}

static CALLED unsigned deep(unsigned depth, unsigned each)
{
    char memory[24];

    if (depth % each == 0)
        use(memory, sizeof(memory));
    if (depth == 0)
        return 0;
    return deep(depth - 1, each) + unsigned(memory[0] & 0);
}

static void run_deep(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        deep(40000, 997);
}

static CALLED unsigned up_and_down(unsigned depth, unsigned seed)
{
    if (depth == 0)
        return 0;
    allocate(seed % 64);
    if (seed % 3 == 0)
        aligned(seed % 64 + 1);
    return up_and_down(depth - 1, seed * 1103515245 + 12345) + 1;
}

static void run_up_and_down(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        up_and_down(i % 40 + 1, i);
}

static void *thread_main(void *argument)
{
    auto rounds = unsigned(reinterpret_cast<uintptr_t>(argument));

    run_up_and_down(rounds);
    run_exceptions(rounds);
    return nullptr;
}

static void run_threads(unsigned rounds)
{
    pthread_t threads[4];

    for (auto &thread : threads)
        if (pthread_create(&thread, nullptr, thread_main,
                           reinterpret_cast<void *>(uintptr_t(rounds))))
            abort();
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
}

static void run_forks(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        pid_t child;

        run_up_and_down(3);
        child = fork();
        if (child == 0) {
            run_up_and_down(20);
            run_exceptions(3);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
}

/* Libraries that come and go at one address, while threads are at work. */
static const char *libraries[2];
static volatile bool is_over;

static void *until_over(void *)
{
    while (!is_over)
        thread_main(reinterpret_cast<void *>(uintptr_t(20)));
    return nullptr;
}

static void load_and_unload(unsigned rounds)
{
    static char *last[2];

    for (unsigned i = 0; i < rounds; i++) {
        void *library = dlopen(libraries[i % 2], RTLD_LAZY);
        auto *go =
            library ? reinterpret_cast<unsigned (*)(unsigned)>(dlsym(library, "go")) : nullptr;

        if (go == nullptr)
            abort();
        go(i % 10);
        last[i % 2] = reinterpret_cast<char *>(go);
        dlclose(library);
    }
    printf("at one address %d\n", last[0] == last[1]);
}

static void run_libraries(unsigned rounds)
{
    load_and_unload(rounds);
}

static void run_libraries_and_threads(unsigned rounds)
{
    pthread_t threads[3];

    for (auto &thread : threads)
        if (pthread_create(&thread, nullptr, until_over, nullptr))
            abort();
    load_and_unload(rounds);
    is_over = true;
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
}

/* Names that are bound at their first call, by code of the library that allocates. */
static void run_late(unsigned)
{
    void *library = dlopen(libraries[0], RTLD_LAZY);
    auto *go =
        library ? reinterpret_cast<unsigned (*)(unsigned)>(dlsym(library, "go_late")) : nullptr;

    if (go == nullptr)
        abort();
    go(100);
}

#if defined(__x86_64__)
extern "C" void with_tables(void (*called)(void));
extern "C" void without_tables(void (*called)(void));
extern "C" void without_tables_with_frame(void (*called)(void));
extern "C" void without_frame_pointer(void (*called)(void));

/* By hand: with tables; without any; without but with a frame pointer; with tables, and data in %rbp. */
__asm__(".text\n"
        ".type with_tables, @function\n"
        "with_tables: .cfi_startproc\n"
        "  push %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_offset rbx, -16\n"
        "  sub $160, %rsp\n .cfi_adjust_cfa_offset 160\n"
        "  call *%rdi\n"
        "  add $160, %rsp\n .cfi_adjust_cfa_offset -160\n"
        "  pop %rbx\n .cfi_adjust_cfa_offset -8\n .cfi_restore rbx\n"
        "  ret\n .cfi_endproc\n .size with_tables, . - with_tables\n"
        ".type without_tables, @function\n"
        "without_tables: sub $72, %rsp\n call *%rdi\n add $72, %rsp\n ret\n"
        ".size without_tables, . - without_tables\n"
        ".type without_tables_with_frame, @function\n"
        "without_tables_with_frame: push %rbp\n mov %rsp, %rbp\n sub $80, %rsp\n call *%rdi\n"
        "  mov %rbp, %rsp\n pop %rbp\n ret\n"
        ".size without_tables_with_frame, . - without_tables_with_frame\n"
        ".type without_frame_pointer, @function\n"
        "without_frame_pointer: .cfi_startproc\n"
        "  push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_offset rbp, -16\n"
        "  mov $0x1234567, %ebp\n call *%rdi\n"
        "  pop %rbp\n .cfi_adjust_cfa_offset -8\n .cfi_restore rbp\n ret\n .cfi_endproc\n"
        ".size without_frame_pointer, . - without_frame_pointer\n");

static CALLED void some_frames()
{
    up_and_down(3, 1);
}

static void run_assembly(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        with_tables(some_frames);
        without_frame_pointer(some_frames);
        without_tables_with_frame(some_frames);
    }
}

static void run_bare(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        without_tables(some_frames);
}

extern "C" void lies_far(void (*called)(void));
extern "C" void lies_below(void (*called)(void));
extern "C" void lies_garbage(void (*called)(void));
extern "C" void lies_saved(void (*called)(void));

/* Tables that lie: of a frame as large as a stack, one that ends below itself, one counted from garbage, one
   whose frame pointer lies far below. */
__asm__(
    ".text\n"
    "lies_far: .cfi_startproc\n"
    "  sub $8, %rsp\n .cfi_def_cfa_offset 131072\n call *%rdi\n add $8, %rsp\n ret\n .cfi_endproc\n"
    "lies_below: .cfi_startproc\n"
    "  sub $8, %rsp\n .cfi_def_cfa_offset -4096\n call *%rdi\n add $8, %rsp\n ret\n .cfi_endproc\n"
    "lies_garbage: .cfi_startproc\n"
    "  push %rbp\n .cfi_def_cfa rbp, 16\n lea 70000(%rsp), %rbp\n call *%rdi\n"
    "  pop %rbp\n ret\n .cfi_endproc\n"
    "lies_saved: .cfi_startproc\n"
    "  sub $8, %rsp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -8000\n call *%rdi\n"
    "  add $8, %rsp\n ret\n .cfi_endproc\n");

static void call_liars()
{
    for (int i = 0; i < 100; i++) {
        lies_far(some_frames);
        lies_below(some_frames);
        lies_garbage(some_frames);
        lies_saved(some_frames);
        without_tables(some_frames);
    }
    swapcontext(&coroutines[0], &main_context);
}

static void *call_liars_in_thread(void *)
{
    getcontext(&coroutines[1]);
    coroutines[1].uc_stack.ss_sp = make_stack(64 * 1024);
    coroutines[1].uc_stack.ss_size = 64 * 1024;
    makecontext(&coroutines[1], call_liars, 0);
    swapcontext(&main_context, &coroutines[1]);
    return nullptr;
}

/* Near the end of a stack with nothing behind it: of the first thread and of another. */
static void run_liars(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        pthread_t thread;

        call_liars_in_thread(nullptr);
        if (pthread_create(&thread, nullptr, call_liars_in_thread, nullptr) != 0)
            abort();
        pthread_join(thread, nullptr);
    }
}

static sigjmp_buf before_overflow;

static void handle_overflow(int)
{
    allocate(300);
    siglongjmp(before_overflow, 1);
}

static CALLED unsigned overflow(unsigned depth)
{
    volatile char memory[2000];

    memory[depth % 2000] = 1;
    if (depth % 64 == 0)
        allocate(depth % 100);
    return depth == ~0u ? 0 : overflow(depth + 1) + unsigned(memory[depth % 2000]);
}

/* The stack is full: its handler has one of its own, and allocates. */
static void run_overflow(unsigned rounds)
{
    stack_t own = {};
    struct sigaction action = {};

    own.ss_size = 128 * 1024;
    own.ss_sp = malloc(own.ss_size);
    action.sa_handler = handle_overflow;
    action.sa_flags = SA_ONSTACK;
    if (sigaltstack(&own, nullptr) != 0 || sigaction(SIGSEGV, &action, nullptr) != 0)
        abort();
    static unsigned i;
    for (i = 0; i < rounds; i++)
        if (sigsetjmp(before_overflow, 1) == 0)
            overflow(0);
}

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char generated[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static void run_generated(unsigned rounds)
{
    void *code =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (code == MAP_FAILED)
        abort();
    memcpy(code, generated, sizeof(generated));
    for (unsigned i = 0; i < rounds; i++)
        reinterpret_cast<void (*)(void (*)())>(code)(some_frames);
}
#endif

static const struct {
    const char *name;
    void (*run)(unsigned rounds);
} scenes[] = {
    {"frames", run_frames},
    {"exceptions", run_exceptions},
    {"jumps", run_jumps},
    {"handlers", run_handlers},
    {"coroutines", run_coroutines},
    {"deep", run_deep},
    {"up-and-down", run_up_and_down},
    {"threads", run_threads},
    {"forks", run_forks},
    {"libraries", run_libraries},
    {"libraries-and-threads", run_libraries_and_threads},
    {"late", run_late},
#if defined(__x86_64__)
    {"assembly", run_assembly},
    {"bare", run_bare},
    {"generated", run_generated},
    {"liars", run_liars},
    {"overflow", run_overflow},
#endif
};

int main(int count, char **arguments)
{
    unsigned rounds = count > 2 ? unsigned(atoi(arguments[2])) : 1;

    if (count > 4) {
        libraries[0] = arguments[3];
        libraries[1] = arguments[4];
    }
    for (const auto &scene : scenes) {
        if (count < 2 || strcmp(scene.name, arguments[1]) != 0)
            continue;
        scene.run(rounds);
        printf("%s %u\n", scene.name, rounds);
        return 0;
    }
    fprintf(stderr, "no such scene\n");
    return 2;
}
