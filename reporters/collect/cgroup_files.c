/*
 * cgroups. Any thread of the collector; nothing is shared.
 *
 * Paths in /proc/PID/cgroup and in mountinfo are both as the reader's own namespace has them, so one
 * that lies below the root of the mount is to be seen there, and one that does not is not ours to see.
 */
#include "collect/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    VALUE_BYTES = 64,
    STAT_BYTES = 16384,
};

/* Version 1 has no word for "no limit" but the largest number of whole pages (kernel/cgroup). */
#define NO_LIMIT_BYTES (UINT64_C(1) << 62)

/* The next field of a line of mountinfo, ended with NUL; mountinfo writes blanks as \040. */
static char *next_field(char **at)
{
    char *field = strsep(at, " "), *to = field;

    for (const char *from = field; field != NULL && *from != '\0'; to++) {
        unsigned code;

        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    if (field != NULL)
        *to = '\0';
    return field;
}

/* Whether a word is in a list with commas. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void take_mount(struct cgroup_mount *mount, enum cgroup_version version, const char *root,
                       const char *directory)
{
    if (mount->version != CGROUP_UNKNOWN || strlen(root) >= PATH_MAX ||
        strlen(directory) >= PATH_MAX)
        return; /* the first is as good as the others */
    mount->version = version;
    snprintf(mount->root, PATH_MAX, "%s", strcmp(root, "/") == 0 ? "" : root);
    snprintf(mount->directory, PATH_MAX, "%s", directory);
}

/* ID PARENT DEVICE ROOT DIRECTORY OPTIONS [TAGS...] - TYPE SOURCE OPTIONS: proc(5). */
static void take_line(struct cgroup_mounts *mounts, char *line)
{
    const char *root, *directory, *type, *options;
    char *separator = strstr(line, " - ");

    if (separator == NULL)
        return;
    *separator = '\0';
    separator += strlen(" - ");
    for (int i = 0; i < 3; i++)
        strsep(&line, " ");
    root = next_field(&line);
    directory = next_field(&line);
    type = next_field(&separator);
    next_field(&separator);
    options = next_field(&separator);
    if (directory == NULL || type == NULL)
        return;
    if (strcmp(type, "cgroup2") == 0)
        take_mount(&mounts->v2, CGROUP_V2, root, directory);
    else if (strcmp(type, "cgroup") == 0 && options != NULL && has_word(options, "memory"))
        take_mount(&mounts->v1, CGROUP_V1, root, directory);
}

void cgroup_find_mounts(struct cgroup_mounts *mounts, const char *mountinfo)
{
    char *copy = strdup(mountinfo), *rest = copy, *line;

    *mounts = (struct cgroup_mounts){.v1 = {.version = CGROUP_UNKNOWN}};
    while (copy != NULL && (line = strsep(&rest, "\n")) != NULL)
        take_line(mounts, line);
    free(copy);
}

/* The part of a path below the mount's own cgroup. NULL: it is not below it. */
static const char *below(const struct cgroup_mount *mount, const char *path)
{
    size_t length = strlen(mount->root);

    if (strncmp(path, mount->root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    path += length;
    if (strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0'))
        return NULL; /* another namespace's */
    return strcmp(path, "/") == 0 ? "" : path;
}

/* ID:CONTROLLERS:PATH; version 2 has the id 0 and no controllers (cgroups(7)). */
const struct cgroup_mount *cgroup_of(const struct cgroup_mounts *mounts, const char *text,
                                     char ret_path[static PATH_MAX])
{
    const struct cgroup_mount *mount = NULL;
    const char *path = NULL;
    char *copy = strdup(text), *rest = copy, *line;

    while (copy != NULL && (line = strsep(&rest, "\n")) != NULL) {
        const char *id = strsep(&line, ":"), *controllers = strsep(&line, ":");
        bool is_v1 = controllers != NULL && has_word(controllers, "memory");

        if (line == NULL || !(is_v1 || strcmp(id, "0") == 0))
            continue;
        if (mount == &mounts->v1)
            continue; /* a controller is in one hierarchy only */
        mount = is_v1 ? &mounts->v1 : &mounts->v2;
        path = line;
    }
    if (mount != NULL)
        path = mount->version != CGROUP_UNKNOWN ? below(mount, path) : NULL;
    if (path != NULL && strlen(path) < PATH_MAX)
        snprintf(ret_path, PATH_MAX, "%s", path);
    else
        mount = NULL;
    free(copy);
    return mount;
}

/* Open a file of the cgroup that so many bytes of the path name. */
static int open_file(const struct cgroup_mount *mount, const char *path, size_t length,
                     const char *name)
{
    char file[2 * PATH_MAX + NAME_MAX];

    snprintf(file, sizeof(file), "%s%.*s/%s", mount->directory, (int)length, path, name);
    return open(file, O_RDONLY | O_CLOEXEC);
}

static bool read_from_start(int fd, char *ret_text, size_t capacity_bytes)
{
    ssize_t size_bytes;

    do
        size_bytes = pread(fd, ret_text, capacity_bytes - 1, 0);
    while (size_bytes < 0 && errno == EINTR);
    if (size_bytes < 0)
        return false;
    ret_text[size_bytes] = '\0';
    return true;
}

static bool read_file(const struct cgroup_mount *mount, const char *path, size_t length,
                      const char *name, char *ret_text, size_t capacity_bytes)
{
    int fd = open_file(mount, path, length, name);
    bool is_read;

    if (fd < 0)
        return false;
    is_read = read_from_start(fd, ret_text, capacity_bytes);
    close(fd);
    return is_read;
}

static bool parse_bytes(const char *text, uint64_t *ret_bytes)
{
    char *end;

    errno = 0;
    *ret_bytes = strtoull(text, &end, 10);
    return end != text && errno == 0 && text[0] != '-';
}

bool cgroup_limit(const struct cgroup_mount *mount, const char *path, const char *name,
                  uint64_t *ret_bytes, size_t *ret_length)
{
    uint64_t smallest = NO_LIMIT_BYTES, bytes;
    size_t length = strlen(path), smallest_length = 0;
    char text[VALUE_BYTES];

    for (;;) {
        /* "max" is no number. Equal limits: what is above has more to count. */
        if (read_file(mount, path, length, name, text, sizeof(text)) && parse_bytes(text, &bytes) &&
            bytes < NO_LIMIT_BYTES && bytes <= smallest) {
            smallest = bytes;
            smallest_length = length;
        }
        if (length == 0)
            break;
        do
            length--;
        while (length > 0 && path[length] != '/');
    }
    if (smallest == NO_LIMIT_BYTES)
        return false;
    *ret_bytes = smallest;
    *ret_length = smallest_length;
    return true;
}

int cgroup_open_current(const struct cgroup_mount *mount, const char *path, size_t length)
{
    return open_file(mount, path, length,
                     mount->version == CGROUP_V1 ? "memory.usage_in_bytes" : "memory.current");
}

bool cgroup_current(int fd, uint64_t *ret_bytes)
{
    char text[VALUE_BYTES];

    return read_from_start(fd, text, sizeof(text)) && parse_bytes(text, ret_bytes);
}

/* A number of memory.stat. */
static uint64_t stat_of(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

bool cgroup_cache(const struct cgroup_mount *mount, const char *path, size_t length,
                  uint64_t *ret_bytes)
{
    bool is_v1 = mount->version == CGROUP_V1; /* whose plain numbers leave out the cgroups below */
    char text[STAT_BYTES];

    if (!read_file(mount, path, length, "memory.stat", text, sizeof(text)))
        return false;
    *ret_bytes = stat_of(text, is_v1 ? "total_active_file" : "active_file") +
                 stat_of(text, is_v1 ? "total_inactive_file" : "inactive_file");
    return true;
}
