/*
 * Programs that take away what a profiler may count on: hostile CASE [ARGUMENT].
 *
 * Each allocates before and after it has done so, and ends with a code of its own. The blocks after
 * it have 40021 bytes: COUNT of them, all given back.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    COUNT = 2000,
    BLOCK_BYTES = 40021,
    LOCKED_LIMIT_KB = 32 << 10,
    CODE_DONE = 11,   /* all went as it should */
    CODE_CANNOT = 12, /* the machine does not allow what the case is about */
};

static void allocate(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        void *volatile block = malloc(BLOCK_BYTES);

        if (block == NULL)
            _exit(98);
        free(block);
    }
}

static _Noreturn void cannot(void)
{
    perror("hostile");
    _exit(CODE_CANNOT);
}

/* Every descriptor, as daemons do. */
static void case_closes_all(const char *unused)
{
    (void)unused;
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
    allocate();
    /* Lower ones are the program's to use again. */
    if (open("/dev/null", O_RDONLY) != 0 || open("/dev/null", O_RDONLY) != 1)
        _exit(97);
}

static void case_changes_directory(const char *unused)
{
    (void)unused;
    if (chdir("/") != 0)
        cannot();
    allocate();
}

static void case_changes_root(const char *folder)
{
    if (chroot(folder) != 0 || chdir("/") != 0)
        cannot();
    allocate();
}

/* The user too, and what the old one could do. A child is made on the far side. */
static void case_changes_user(const char *unused)
{
    int status = 0;
    pid_t child;

    (void)unused;
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        cannot();
    allocate();
    child = fork();
    if (child == 0) {
        allocate();
        _exit(3);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
        _exit(97);
}

/* The rest of the program may read, write and end its thread. */
static void case_strict(const char *unused)
{
    (void)unused;
    free(malloc(BLOCK_BYTES)); /* so that the C library needs nothing of the kernel any more */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        cannot();
    allocate();
    syscall(SYS_exit, CODE_DONE);
}

static atomic_int phase;

/* Asks for no memory before the filter stands; only its start is over by then. */
static void *allocate_when_filtered(void *unused)
{
    atomic_store(&phase, 1);
    while (atomic_load(&phase) == 1)
        ;
    allocate();
    atomic_store(&phase, 3);
    return unused;
}

static int install_filter(unsigned flags)
{
#define ALLOW(number_) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_madvise),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
#undef ALLOW
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* A filter that ends the process at any call but those that memory is made of. */
static void case_filter(const char *unused)
{
    (void)unused;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || install_filter(0) != 0)
        cannot();
    allocate();
}

/* The same over all threads, one of which has its first event behind the filter. */
static void case_filter_threads(const char *unused)
{
    pthread_t thread;

    (void)unused;
    if (pthread_create(&thread, NULL, allocate_when_filtered, NULL) != 0)
        cannot();
    while (atomic_load(&phase) != 1)
        ;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        install_filter(SECCOMP_FILTER_FLAG_TSYNC) != 0)
        cannot();
    atomic_store(&phase, 2);
    while (atomic_load(&phase) != 3)
        ;
    allocate();
    _exit(CODE_DONE);
}

static int refuse_sockets(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void execute(const char *program)
{
    char image[] = "hostile", argument[] = "changes_directory";
    char *arguments[] = {image, argument, NULL};

    execv(program, arguments);
    cannot();
}

/* The next image may not make a socket, or is ended. */
static void case_filter_and_exec(const char *program)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || refuse_sockets() != 0)
        cannot();
    allocate();
    execute(program);
}

/* What comes before a filter, but none comes. */
static void case_no_privileges_and_exec(const char *program)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        cannot();
    allocate();
    execute(program);
}

/* A child of vfork that has nothing to execute: its end is not its parent's. */
static void case_no_privileges_and_vfork(const char *unused)
{
    char image[] = "nothing";
    char *arguments[] = {image, NULL};
    int status = 0;
    pid_t child;

    (void)unused;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        cannot();
    allocate();
    child = vfork();
    if (child == 0) {
        execv("/nonexistent/program", arguments);
        _exit(77);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 77)
        _exit(97);
}

/* The next image finds no library of ours behind the new root. */
static void case_changes_root_and_execs(const char *folder)
{
    if (chroot(folder) != 0 || chdir("/") != 0)
        cannot();
    allocate();
    execute("/hostile");
}

static void case_address_space(const char *unused)
{
    struct rlimit limit = {256u << 20, 256u << 20};

    (void)unused;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        cannot();
    allocate();
}

/* Locks all that it has: more than LOCKED_LIMIT is nothing of this program's. */
static void case_locks_memory(const char *unused)
{
    char line[256] = "";
    long locked_kb = -1;
    FILE *status;

    (void)unused;
    if (mlockall(MCL_CURRENT) != 0)
        cannot();
    status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (sscanf(line, "VmLck: %ld", &locked_kb) == 1)
            break;
    allocate();
    if (locked_kb < 0 || locked_kb > LOCKED_LIMIT_KB)
        _exit(97);
    munlockall();
    allocate();
}

/* Becomes a daemon: the program has ended, its grandchild goes on. */
static void case_daemon(const char *unused)
{
    pid_t child = fork();

    (void)unused;
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        for (int fd = 0; fd < 64; fd++)
            close(fd);
        usleep(300 * 1000);
        allocate();
        _exit(4);
    }
    waitpid(child, NULL, 0);
}

/* Signals of its own, on a stack of its own, which allocate. */
static void handle(int number)
{
    (void)number;
    free(malloc(100));
}

static void case_small_signal_stack(const char *unused)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    size_t bytes = 16384, page = 4096;
    char *memory =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = bytes};

    (void)unused;
    /* Whoever needs more than its stack falls into the page below it. */
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
        sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        cannot();
    for (unsigned i = 0; i < 100; i++)
        raise(SIGUSR1);
    allocate();
}

/* What a thread of the smallest size does, if it does no more than that: start a program. */
static void *execute_in_child(void *unused)
{
    int status = -1;
    pid_t child;

    allocate();
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", NULL);
        _exit(8);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        _exit(97);
    return unused;
}

static void case_small_thread(const char *unused)
{
    pthread_attr_t attributes;
    pthread_t thread;

    (void)unused;
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) != 0 ||
        pthread_create(&thread, &attributes, execute_in_child, NULL) != 0)
        cannot();
    pthread_join(thread, NULL);
}

/* No memory is left for anybody: what fails, fails as it would. */
static void case_out_of_memory(const char *unused)
{
    struct rlimit limit;
    size_t got = 0;

    (void)unused;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 2000u << 20;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        cannot();
    while (malloc(1 << 20) != NULL)
        got++;
    if (errno != ENOMEM || got == 0 || malloc((size_t)1 << 40) != NULL)
        _exit(97);
}

/* Removes what it may find of others in its environment, then starts itself anew. */
static void case_clears_environment(const char *program)
{
    clearenv();
    allocate();
    execute(program);
}

static const struct {
    const char *name;
    void (*run)(const char *argument);
} cases[] = {
    {"closes_all", case_closes_all},
    {"changes_directory", case_changes_directory},
    {"changes_root", case_changes_root},
    {"changes_root_and_execs", case_changes_root_and_execs},
    {"changes_user", case_changes_user},
    {"strict", case_strict},
    {"filter", case_filter},
    {"filter_threads", case_filter_threads},
    {"filter_and_exec", case_filter_and_exec},
    {"no_privileges_and_exec", case_no_privileges_and_exec},
    {"no_privileges_and_vfork", case_no_privileges_and_vfork},
    {"address_space", case_address_space},
    {"locks_memory", case_locks_memory},
    {"daemon", case_daemon},
    {"small_signal_stack", case_small_signal_stack},
    {"small_thread", case_small_thread},
    {"out_of_memory", case_out_of_memory},
    {"clears_environment", case_clears_environment},
};

int main(int argc, char **argv)
{
    free(malloc(40011));
    for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run(argc > 2 ? argv[2] : NULL);
            _exit(CODE_DONE);
        }
    return 2;
}
