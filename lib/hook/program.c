/*
 * Looking at the first bytes of a program that is about to be executed.
 *
 * Runs in the program's threads and in children of vfork: nothing here allocates, and one small
 * buffer serves for everything. Linux decides in the end what is executed, and whether it is: what
 * cannot be found out here is executed as if nobody had looked.
 */
#include "hook/program.h"

#include "base/syscalls.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BEGINNING_BYTES = 512, /* Linux looks at 256 (binfmts.h); what leads to a loader lies behind */
    FILES_MAX = 6,         /* a script's interpreter may be a script: 5 times (fs/exec.c) */
};

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

static const char path_variable[] = "PATH=";
static const char path_default[] = "/bin:/usr/bin"; /* glibc, confstr(_CS_PATH) */

/* Of a file; and a path, before the file is read or after. */
union beginning {
    char text[BEGINNING_BYTES];
    Elf32_Ehdr narrow; /* up to e_machine both classes are alike (gABI, chapter 4) */
};

/* Nothing else is executed, and opening it might wait, or do something. */
static bool is_regular(int fd, const char *path, int flags)
{
    struct stat status = {0};

    return !sys_failed(sys_call(SYS_newfstatat, fd, (long)path, (long)&status, flags, 0, 0)) &&
           S_ISREG(status.st_mode);
}

/* Read the beginning of a regular file. Returns its length; 0: it cannot be read. */
static size_t read_beginning(const struct program *program, union beginning *beginning)
{
    const char *path = program->path;
    long fd = program->fd, length;
    bool is_open;

    /* This refuses a path that is none. */
    if (!is_regular(program->fd, path, program->flags))
        return 0;
    is_open = (program->flags & AT_EMPTY_PATH) != 0 && (path == NULL || *path == '\0');
    if (!is_open && program->is_elsewhere && *path != '/')
        return 0;
    if (!is_open)
        fd = sys_call(SYS_openat, fd, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    if (sys_failed(fd))
        return 0;
    length = sys_call(SYS_pread64, fd, (long)beginning->text, BEGINNING_BYTES - 1, 0, 0, 0);
    if (!is_open)
        sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (sys_failed(length))
        return 0;
    beginning->text[length] = '\0';
    return (size_t)length;
}

/*
 * Whether a program of 32 bits is started by Linux alone. One that can lie anywhere may be a loader,
 * executed to load another.
 */
static bool is_static(const union beginning *beginning, size_t length)
{
    const Elf32_Ehdr *header = &beginning->narrow;
    Elf32_Phdr part;

    if (header->e_ident[EI_CLASS] != ELFCLASS32 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_EXEC || header->e_phoff > length ||
        header->e_phnum > (length - header->e_phoff) / sizeof(part))
        return false;
    for (size_t i = 0; i < header->e_phnum; i++) {
        memcpy(&part, beginning->text + header->e_phoff + i * sizeof(part), sizeof(part));
        if (part.p_type == PT_INTERP)
            return false;
    }
    return true;
}

static bool is_elf(const union beginning *beginning, size_t length)
{
    return length >= sizeof(beginning->narrow) && memcmp(beginning->text, ELFMAG, SELFMAG) == 0;
}

static bool is_foreign(const union beginning *beginning, size_t length)
{
    const Elf32_Ehdr *header = &beginning->narrow;

    return (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
            header->e_machine != OWN_MACHINE) &&
           !is_static(beginning, length);
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

/* Return the path in a script's first line (fs/binfmt_script.c), cut off there; NULL: it has none. */
static const char *cut_interpreter(char *text)
{
    char *end;

    if (text[0] != '#' || text[1] != '!')
        return NULL;
    for (text += 2; is_blank(*text); text++)
        ;
    for (end = text; *end != '\0' && *end != '\n' && !is_blank(*end); end++)
        ;
    *end = '\0';
    return end > text ? text : NULL;
}

/* Look at a program, or at what Linux would execute for it. */
static bool look(struct program file, union beginning *beginning)
{
    for (int count = 0; count < FILES_MAX; count++) {
        size_t length = read_beginning(&file, beginning);

        if (length == 0)
            return false;
        if (is_elf(beginning, length))
            return is_foreign(beginning, length);
        file.path = cut_interpreter(beginning->text);
        if (file.path == NULL)
            return false;
        file.fd = AT_FDCWD;
        file.flags = 0;
    }
    return false;
}

/* As libc does, which asks the caller's own environment. */
static const char *find_search_list(void)
{
    size_t length = strlen(path_variable);

    for (char *const *entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, path_variable, length) == 0)
            return *entry + length;
    return path_default;
}

/* Write a name behind the next folder of a list. Returns false when it does not fit. */
static bool join_path(char *to, const char *folder, size_t folder_length, const char *name)
{
    size_t name_bytes = strlen(name) + 1;

    if (folder_length >= BEGINNING_BYTES || name_bytes >= BEGINNING_BYTES - folder_length)
        return false;
    memcpy(to, folder, folder_length);
    if (folder_length > 0)
        to[folder_length++] = '/';
    memcpy(to + folder_length, name, name_bytes);
    return true;
}

/* Look at the first in PATH that can be executed. */
static bool search(struct program file, union beginning *beginning)
{
    const char *list = find_search_list(), *name = file.path;
    size_t length;

    file.path = beginning->text;
    for (;; list += length + 1) {
        length = strcspn(list, ":");
        if (!join_path(beginning->text, list, length, name))
            return false;
        if (file.is_elsewhere && *beginning->text != '/')
            return false;
        if (!sys_failed(sys_call(SYS_faccessat, AT_FDCWD, (long)file.path, X_OK, 0, 0, 0)) &&
            is_regular(AT_FDCWD, file.path, 0))
            return look(file, beginning);
        if (list[length] == '\0')
            return false;
    }
}

bool program_is_foreign(const struct program *program)
{
    union beginning beginning;

    if (sys_makes_no_calls())
        return false;
    if (program->is_searched && *program->path != '\0' &&
        program->path[strcspn(program->path, "/")] == '\0')
        return search(*program, &beginning);
    return look(*program, &beginning);
}
