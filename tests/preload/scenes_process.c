/* Scenes of processes and threads. */
#include "scenes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Wait for a child. Returns its exit code. */
static int wait_for(pid_t child)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int scene_fork(void)
{
    void *block = malloc(11111);
    pid_t child = fork();

    if (child == 0) {
        free(block);
        use(malloc(22222));
        _exit(5);
    }
    EXPECT(wait_for(child) == 5);
    use(malloc(33333));
    return 0;
}

/* A child of a child that has recorded nothing itself; raw, so that no handler of fork runs. */
static int scene_raw_fork(void)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (child == 0) {
        pid_t grandchild = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

        if (grandchild == 0) {
            use(malloc(22222));
            syscall(SYS_exit_group, 0);
        }
        syscall(SYS_exit_group, wait_for(grandchild));
    }
    EXPECT(wait_for(child) == 0);
    return 0;
}

static int scene_vfork(void)
{
    pid_t child;

    use(malloc(11111)); /* a thread that has not recorded yet could not begin in there */
    child = vfork();

    if (child == 0) {
        use(malloc(22222));
        _exit(6);
    }
    EXPECT(wait_for(child) == 6);
    use(malloc(33333));
    return 0;
}

static int scene_exec(void)
{
    execl("/proc/self/exe", "tracked", "malloc", (char *)NULL);
    return 1;
}

static char *const play_malloc[] = {(char[]){"tracked"}, (char[]){"malloc"}, NULL};

static int scene_exec_without_session(void)
{
    char *const environment[] = {NULL};

    execve("/proc/self/exe", play_malloc, environment);
    return 1;
}

static int scene_exec_fails(void)
{
    errno = 0;
    EXPECT(execlp("no-such-program", "no-such-program", (char *)NULL) == -1 && errno == ENOENT);
    use(malloc(33333));
    return 0;
}

/* What Linux refuses, it refuses as ever, whoever looks at the program first. */
static int scene_exec_refused(void)
{
    const char *volatile nowhere = (const char *)8;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), lowest = dup(fd);

    EXPECT(fd >= 0 && lowest >= 0 && close(lowest) == 0);
    EXPECT(execve(nowhere, play_malloc, environ) == -1 && errno == EFAULT);
    EXPECT(execv("", play_malloc) == -1 && errno == ENOENT);
    EXPECT(execvp("", play_malloc) == -1 && errno == ENOENT);
    EXPECT(execv("/etc/passwd", play_malloc) == -1 && errno == EACCES);
    EXPECT(execv("/", play_malloc) == -1 && errno == EACCES);
    EXPECT(fexecve(-1, play_malloc, environ) == -1 && errno == EINVAL);
    EXPECT(execveat(-1, "", play_malloc, environ, AT_EMPTY_PATH) == -1 && errno == EBADF);
    EXPECT(execveat(-1, "relative", play_malloc, environ, 0) == -1 && errno == EBADF);
    EXPECT(execveat(fd, "", play_malloc, environ, -1) == -1 && errno == EINVAL);
    EXPECT(execveat(fd, nowhere, play_malloc, environ, AT_EMPTY_PATH) == -1 && errno == EFAULT);
    EXPECT(execveat(fd, "", play_malloc, environ, 0) == -1 && errno == ENOENT);
    EXPECT(execveat(AT_FDCWD, "/proc/self/exe", play_malloc, environ, AT_SYMLINK_NOFOLLOW) == -1 &&
           errno == ELOOP);
    EXPECT(dup(fd) == lowest && lseek(fd, 0, SEEK_CUR) == 0);
    use(malloc(33333));
    return 0;
}

/* Started in every way there is, the child says whether it has the session's variables. */
static int scene_children(void)
{
    char *const arguments[] = {
        (char[]){"sh"}, (char[]){"-c"},
        (char[]){"case \"${MEMTRACK_SESSION-}${LD_PRELOAD-}\" in *:*|*memtrack*) exit 9;; esac"},
        NULL};
    pid_t child;

    EXPECT(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    printf("%d", wait_for(child));
    EXPECT(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0);
    printf("%d", wait_for(child));
    child = fork();
    if (child == 0) {
        execv("/bin/sh", arguments);
        _exit(1);
    }
    printf("%d", wait_for(child));
    child = vfork();
    if (child == 0) {
        execvp("sh", arguments);
        _exit(1);
    }
    printf("%d", wait_for(child));
    child = vfork();
    if (child == 0) {
        execle("/bin/sh", "sh", "-c", arguments[2], (char *)NULL, environ);
        _exit(1);
    }
    printf("%d", wait_for(child));
    EXPECT(getenv("MEMTRACK_SESSION") != NULL && getenv("LD_PRELOAD") != NULL);
    fflush(stdout);
    return 0;
}

static int scene_exit(void)
{
    exit(77);
}

static int scene_quick_exit(void)
{
    quick_exit(78);
}

static void *name_myself(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "second");
    return NULL;
}

static int scene_names(void)
{
    pthread_t thread;

    EXPECT(pthread_setname_np(pthread_self(), "first") == 0);
    EXPECT(pthread_create(&thread, NULL, name_myself, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    return 0;
}

/* Prints what is open, for comparison with a run alone. */
static int scene_descriptors(void)
{
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            printf("%d ", fd);
    printf("| %d %d\n", open("/dev/null", O_RDONLY), errno);
    fflush(stdout);
    return 0;
}

/* dlopen() must see the caller: a library found by this program's RUNPATH alone. */
static int scene_runpath(void)
{
    void *library = dlopen("libplugin.so", RTLD_NOW | RTLD_DEEPBIND);
    void (*allocate)(void);

    EXPECT(library != NULL);
    allocate = (void (*)(void))dlsym(library, "plugin_allocate");
    EXPECT(allocate != NULL);
    allocate();
    return 0;
}

static int scene_strict(void)
{
    free(malloc(44)); /* the allocator itself has to ask for memory once */
    EXPECT(prctl(PR_SET_SECCOMP, 1, 0, 0, 0) == 0); /* SECCOMP_MODE_STRICT */
    for (unsigned i = 0; i < 200000; i++) {
        void *block = malloc(44);

        use(block);
        free(block);
    }
    syscall(SYS_exit, 0);
    return 1;
}

const struct scene process_scenes[] = {
    {"fork", scene_fork},
    {"raw_fork", scene_raw_fork},
    {"vfork", scene_vfork},
    {"exec", scene_exec},
    {"exec_without_session", scene_exec_without_session},
    {"exec_fails", scene_exec_fails},
    {"exec_refused", scene_exec_refused},
    {"children", scene_children},
    {"exit", scene_exit},
    {"quick_exit", scene_quick_exit},
    {"names", scene_names},
    {"descriptors", scene_descriptors},
    {"runpath", scene_runpath},
    {"strict", scene_strict},
    {NULL, NULL},
};
