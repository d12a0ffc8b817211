/*
 * Output names: plain text work, no file is touched.
 */
#include "output_name.h"

#include "base/memory.h"
#include "words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CAPTURE_PREFIX "memtrack-"
#define CAPTURE_SUFFIX ".bin"

/* The number of this process among those of one parallel job, as starters of such jobs tell it. */
static const char *job_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID", "RANK"};

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *rank = getenv(variables[i]);

        if (rank != NULL && rank[0] != '\0')
            return rank;
    }
    return "0";
}

/* Return what a letter behind % stands for; NULL when nothing. buffer: may hold the result. */
static const char *replacement(char letter, pid_t pid, char *buffer, size_t size_bytes)
{
    time_t now;
    struct tm local;

    switch (letter) {
    case '%':
        return "%";
    case 'p':
        snprintf(buffer, size_bytes, "%ld", (long)pid);
        return buffer;
    case 'r':
        return job_rank();
    case 'h':
        if (gethostname(buffer, size_bytes - 1) != 0)
            return "host";
        buffer[size_bytes - 1] = '\0';
        return buffer;
    case 't':
        now = time(NULL);
        if (localtime_r(&now, &local) == NULL ||
            strftime(buffer, size_bytes, "%Y%m%d-%H%M%S", &local) == 0)
            return "time";
        return buffer;
    default:
        return NULL;
    }
}

static char *expand(const char *pattern, pid_t pid)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return memory_copy_text(pattern);
    for (; *pattern != '\0'; pattern++) {
        char buffer[HOST_NAME_MAX + 1];
        const char *new = NULL;

        if (*pattern == '%')
            new = replacement(pattern[1], pid, buffer, sizeof(buffer));
        if (new == NULL) {
            putc(*pattern, out);
            continue;
        }
        fputs(new, out);
        pattern++;
    }
    fclose(out);
    return text;
}

char *output_name_of_capture(const char *pattern, const char *program, pid_t pid)
{
    char *name;

    if (pattern != NULL)
        return expand(pattern, pid);
    name = words_format(CAPTURE_PREFIX "%s.%ld" CAPTURE_SUFFIX, program, (long)pid);
    for (char *letter = name; *letter != '\0'; letter++) {
        if (*letter == '/')
            *letter = '-';
    }
    return name;
}

char *output_name_of_report(const char *capture, const char *report, const char *suffix)
{
    const char *base = words_base_name(capture);
    int directory_length = (int)(base - capture);
    size_t length;

    if (strncmp(base, CAPTURE_PREFIX, strlen(CAPTURE_PREFIX)) == 0)
        base += strlen(CAPTURE_PREFIX);
    length = strlen(base);
    if (length > strlen(CAPTURE_SUFFIX) &&
        strcmp(base + length - strlen(CAPTURE_SUFFIX), CAPTURE_SUFFIX) == 0)
        length -= strlen(CAPTURE_SUFFIX);
    return words_format("%.*s" CAPTURE_PREFIX "%s-%.*s%s", directory_length, capture, report,
                        (int)length, base, suffix);
}
