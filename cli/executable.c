/*
 * Executables. Every number that comes out of a file is checked before use.
 */
#include "executable.h"

#include "base/memory.h"
#include "words.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    unsigned machine;
    bool is_64_bit;
    const char *name;
} machines[] = {
    {EM_X86_64, true, "x86-64"},    {EM_AARCH64, true, "aarch64"}, {EM_386, false, "i386"},
    {EM_X86_64, false, "x32"},      {EM_ARM, false, "32-bit ARM"}, {EM_RISCV, true, "RISC-V"},
    {EM_PPC64, true, "PowerPC 64"}, {EM_S390, true, "s390x"},      {EM_MIPS, false, "MIPS"},
};

const char *executable_machine_name(unsigned machine, bool is_64_bit)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (machines[i].machine == machine && machines[i].is_64_bit == is_64_bit)
            return machines[i].name;
    }
    return "unknown";
}

static bool is_regular_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

char *executable_find(const char *name)
{
    const char *directories = getenv("PATH");
    int reason = ENOENT;

    if (strchr(name, '/') != NULL)
        return memory_copy_text(name);
    if (directories == NULL)
        directories = "/bin:/usr/bin";
    while (name[0] != '\0') {
        size_t length = strcspn(directories, ":");
        char *path = length == 0 ? words_format("./%s", name) /* an empty entry: here */
                                 : words_format("%.*s/%s", (int)length, directories, name);

        if (is_regular_file(path)) {
            if (access(path, X_OK) == 0)
                return path;
            reason = EACCES;
        }
        free(path);
        if (directories[length] == '\0')
            break;
        directories += length + 1;
    }
    errno = reason;
    return NULL;
}

/* Take the next word of a "#!" line. Returns what stands behind it. */
static const char *next_word(const char *line, char *word, size_t size_bytes)
{
    size_t length;

    line += strspn(line, " \t");
    length = strcspn(line, " \t\n");
    if (length >= size_bytes)
        length = size_bytes - 1;
    memcpy(word, line, length);
    word[length] = '\0';
    return line + length;
}

static void parse_script(const char *line, struct executable_script *script)
{
    char word[EXECUTABLE_LINE_BYTES];

    line = next_word(line, script->interpreter, sizeof(script->interpreter));
    script->program[0] = '\0';
    if (strcmp(words_base_name(script->interpreter), "env") != 0)
        return;
    do { /* skip env's own options and the variables it sets */
        line = next_word(line, word, sizeof(word));
    } while (word[0] == '-' || strchr(word, '=') != NULL);
    memcpy(script->program, word, sizeof(word));
}

/* Read the path of the loader that a program header names. Returns false when it is damaged. */
static bool read_loader(int fd, uint64_t offset, uint64_t size_bytes, struct executable_elf *elf)
{
    if (size_bytes == 0 || size_bytes > sizeof(elf->loader) || offset > INT64_MAX)
        return false;
    if (pread(fd, elf->loader, (size_t)size_bytes, (off_t)offset) != (ssize_t)size_bytes)
        return false;
    elf->has_loader = true;
    return elf->loader[size_bytes - 1] == '\0';
}

static bool read_program_headers(int fd, const Elf64_Ehdr *header, struct executable_elf *elf)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        uint64_t offset = header->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);
        Elf64_Phdr part;

        if (offset > INT64_MAX || pread(fd, &part, sizeof(part), (off_t)offset) != sizeof(part))
            return false;
        if (part.p_type == PT_INTERP)
            return read_loader(fd, part.p_offset, part.p_filesz, elf);
    }
    return true;
}

static bool read_elf(int fd, const unsigned char *head, size_t length, struct executable_elf *elf)
{
    Elf64_Ehdr header;

    /* Both classes have e_machine at the same place, within the first 20 bytes. */
    if (length < 20 || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    memset(elf, 0, sizeof(*elf));
    elf->is_64_bit = head[EI_CLASS] == ELFCLASS64;
    elf->machine = head[EI_DATA] == ELFDATA2LSB ? (unsigned)(head[18] | head[19] << 8)
                                                : (unsigned)(head[19] | head[18] << 8);
    if (!elf->is_64_bit || head[EI_DATA] != ELFDATA2LSB)
        return true; /* foreign: the rest is of no interest */
    if (length < sizeof(header))
        return false;
    memcpy(&header, head, sizeof(header));
    return header.e_phentsize == sizeof(Elf64_Phdr) && read_program_headers(fd, &header, elf);
}

enum executable_kind executable_read(const char *path, struct executable_elf *ret_elf,
                                     struct executable_script *ret_script)
{
    char head[EXECUTABLE_LINE_BYTES + 1];
    enum executable_kind kind = EXECUTABLE_OTHER;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t length;

    if (fd < 0)
        return EXECUTABLE_UNREADABLE;
    length = pread(fd, head, sizeof(head) - 1, 0);
    if (length < 0) {
        close(fd);
        return EXECUTABLE_UNREADABLE;
    }
    head[length] = '\0';
    if (length > 2 && head[0] == '#' && head[1] == '!') {
        parse_script(head + 2, ret_script);
        kind = EXECUTABLE_SCRIPT;
    } else if (read_elf(fd, (const unsigned char *)head, (size_t)length, ret_elf)) {
        kind = EXECUTABLE_ELF;
    }
    close(fd);
    return kind;
}

bool executable_is_python(const struct executable_script *script)
{
    const char *program = script->program[0] != '\0' ? script->program : script->interpreter;
    const char *name = words_base_name(program);

    /* python, python3, python3.12, pythonw; also pypy would start so, but is not Python's C one */
    return strncmp(name, "python", strlen("python")) == 0;
}
