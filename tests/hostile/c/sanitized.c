/*
 * Built by the tests with one sanitizer after the other: says what it sees of itself, and makes the
 * mistake that it is told: `sanitized MISTAKE ...`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 40021,
};

extern char **environ;
static char *volatile block;

static void show_file(const char *path)
{
    char text[256];
    FILE *file = fopen(path, "r");

    if (file != NULL && fgets(text, sizeof(text), file) != NULL)
        fputs(text, stdout);
    if (file != NULL)
        fclose(file);
}

static void show(char **arguments)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));

    printf("%.*s\n%s\n", length > 0 ? (int)length : 0, path, (const char *)getauxval(AT_EXECFN));
    show_file("/proc/self/comm");
    for (; *arguments != NULL; arguments++)
        puts(*arguments);
    for (char **variable = environ; *variable != NULL; variable++)
        puts(*variable);
    fflush(stdout);
}

/* A name for reports to show, and for suppressions to name. */
__attribute__((noinline)) static char *make_block(void)
{
    return malloc(BLOCK_BYTES);
}

static void *write_block(void *unused)
{
    (void)unused;
    block[0]++;
    return NULL;
}

static void race(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, write_block, NULL);
    write_block(NULL);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    const char *mistake = count > 1 ? arguments[1] : "none";

    show(arguments);
    block = make_block();
    if (block == NULL)
        return 1;
    if (strcmp(mistake, "overflow") == 0)
        block[BLOCK_BYTES + count - 2] = 1;
    if (strcmp(mistake, "leak") == 0)
        block = NULL;
    if (strcmp(mistake, "race") == 0)
        race();
    if (strcmp(mistake, "uninitialised") == 0 && block[5] == 'x')
        puts("by chance");
    if (strcmp(mistake, "shift") == 0)
        printf("%d\n", 1 << (count + 40));
    free(block);
    return 9;
}
