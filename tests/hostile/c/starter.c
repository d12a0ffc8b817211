/*
 * Starts a program in one of many ways, and ends as that ended: `starter WAY PROGRAM [ARGUMENT...]`.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CODE_CANNOT = 12,
};

struct way {
    const char *name;
    int (*start)(char **arguments); /* returns wait()'s status */
};

static int cannot(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(CODE_CANNOT);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        cannot("child");
    return status;
}

static int start_system(char **arguments)
{
    return system(arguments[0]);
}

static int start_popen(char **arguments)
{
    FILE *pipe = popen(arguments[0], "r");
    char line[4096];

    if (pipe == NULL)
        cannot("popen");
    while (fgets(line, sizeof(line), pipe) != NULL)
        fputs(line, stdout);
    return pclose(pipe);
}

static int spawned(int error, const pid_t *pid)
{
    errno = error;
    return wait_for(error == 0 ? *pid : -1);
}

static int start_spawn(char **arguments)
{
    pid_t pid = -1;

    return spawned(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ), &pid);
}

static int start_spawnp(char **arguments)
{
    pid_t pid = -1;

    return spawned(posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ), &pid);
}

/* By a path that is right in the child's directory only. */
static int start_spawn_elsewhere(char **arguments)
{
    char *slash = strrchr(arguments[0], '/'), path[4096];
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;

    *slash = '\0';
    snprintf(path, sizeof(path), "./%s", slash + 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, arguments[0]);
    arguments[0] = path;
    return spawned(posix_spawn(&pid, path, &actions, NULL, arguments, environ), &pid);
}

static int start_vfork(char **arguments)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execv(arguments[0], arguments);
        _exit(CODE_CANNOT);
    }
    return wait_for(pid);
}

static int start_vfork_search(char **arguments)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execvp(arguments[0], arguments);
        _exit(CODE_CANNOT);
    }
    return wait_for(pid);
}

static int start_execlp(char **arguments)
{
    execlp(arguments[0], arguments[0], arguments[1], NULL);
    return cannot("execlp");
}

static int start_fexecve(char **arguments)
{
    fexecve(open(arguments[0], O_RDONLY), arguments, environ);
    return cannot("fexecve");
}

static int start_execveat(char **arguments)
{
    execveat(AT_FDCWD, arguments[0], arguments, environ, 0);
    return cannot("execveat");
}

/* As programs do that do not use libc. */
static int start_raw(char **arguments)
{
    syscall(SYS_execve, arguments[0], arguments, environ);
    return cannot("execve");
}

static const struct way ways[] = {
    {"system", start_system},
    {"popen", start_popen},
    {"spawn", start_spawn},
    {"spawnp", start_spawnp},
    {"spawn_elsewhere", start_spawn_elsewhere},
    {"vfork", start_vfork},
    {"vfork_search", start_vfork_search},
    {"execlp", start_execlp},
    {"fexecve", start_fexecve},
    {"execveat", start_execveat},
    {"raw", start_raw},
};

int main(int count, char **arguments)
{
    int status = 0;

    for (size_t i = 0; count > 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(arguments[1], ways[i].name) != 0)
            continue;
        status = ways[i].start(arguments + 2);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    fprintf(stderr, "usage: starter WAY PROGRAM [ARGUMENT...]\n");
    return CODE_CANNOT;
}
