/*
 * The first bytes of a program about to be executed.
 */
#include "hook/program.h"

#include "base/syscalls.h"

#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OTHER_MACHINE EM_AARCH64
#else
#define OTHER_MACHINE EM_X86_64
#endif

enum {
    PARTS_MAX = 20, /* more than are looked at */
};

/* A program of 32 bits, as far as it is looked at. */
struct narrow {
    Elf32_Ehdr header;
    Elf32_Phdr parts[PARTS_MAX];
};

static int file_of(const void *bytes, size_t count_bytes)
{
    int fd = memfd_create("program", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, bytes, count_bytes) == (ssize_t)count_bytes);
    return fd;
}

/* Whether a program is foreign that begins so; by its descriptor, whose offset nobody moves. */
static bool is_foreign(const void *bytes, size_t count_bytes)
{
    int fd = file_of(bytes, count_bytes);
    struct program program = {.path = "", .fd = fd, .flags = AT_EMPTY_PATH};
    bool result;

    errno = 77;
    result = program_is_foreign(&program);
    CHECK_EQUAL(errno, 77);
    CHECK_EQUAL(lseek(fd, 0, SEEK_CUR), count_bytes);
    close(fd);
    return result;
}

static bool is_foreign_text(const char *text)
{
    test_case("%s", text);
    return is_foreign(text, strlen(text));
}

static void read_own(Elf64_Ehdr *ret_header)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    CHECK(read(fd, ret_header, sizeof(*ret_header)) == sizeof(*ret_header));
    close(fd);
}

static struct narrow narrow_of(uint16_t type, unsigned count_parts)
{
    struct narrow narrow = {.header = {.e_type = type,
                                       .e_machine = EM_386,
                                       .e_phoff = sizeof(narrow.header),
                                       .e_phnum = (uint16_t)count_parts}};

    memcpy(narrow.header.e_ident, ELFMAG, SELFMAG);
    narrow.header.e_ident[EI_CLASS] = ELFCLASS32;
    narrow.header.e_ident[EI_DATA] = ELFDATA2LSB;
    for (unsigned i = 0; i < PARTS_MAX; i++)
        narrow.parts[i].p_type = PT_LOAD;
    return narrow;
}

TEST(a_program_of_our_architecture_is_not_foreign)
{
    Elf64_Ehdr header;

    read_own(&header);
    CHECK(!is_foreign(&header, sizeof(header)));
    CHECK(!program_is_foreign(&(struct program){.path = "/proc/self/exe", .fd = AT_FDCWD}));
}

TEST(class_byte_order_and_machine_are_each_looked_at)
{
    Elf64_Ehdr own, other;

    read_own(&own);
    other = own;
    other.e_ident[EI_CLASS] = ELFCLASS32;
    CHECK(is_foreign(&other, sizeof(other)));
    other = own;
    other.e_ident[EI_DATA] = ELFDATA2MSB;
    CHECK(is_foreign(&other, sizeof(other)));
    other = own;
    other.e_machine = OTHER_MACHINE;
    CHECK(is_foreign(&other, sizeof(other)));
}

TEST(a_static_program_has_no_loader_that_complains)
{
    struct narrow narrow = narrow_of(ET_EXEC, 3);

    CHECK(!is_foreign(&narrow, sizeof(narrow)));
    narrow.parts[2].p_type = PT_INTERP;
    CHECK(is_foreign(&narrow, sizeof(narrow)));
    narrow.parts[2].p_type = PT_LOAD;
    narrow.parts[3].p_type = PT_INTERP; /* one behind */
    CHECK(!is_foreign(&narrow, sizeof(narrow)));
    narrow.header.e_type = ET_DYN;
    CHECK(is_foreign(&narrow, sizeof(narrow)));
}

TEST(what_lies_outside_of_what_was_read_is_not_looked_at)
{
    struct narrow narrow = narrow_of(ET_EXEC, PARTS_MAX);

    CHECK(is_foreign(&narrow, sizeof(narrow)));
    narrow = narrow_of(ET_EXEC, 2);
    CHECK(!is_foreign(&narrow, sizeof(narrow.header) + 2 * sizeof(Elf32_Phdr)));
    CHECK(is_foreign(&narrow, sizeof(narrow.header) + 2 * sizeof(Elf32_Phdr) - 1));
    narrow.header.e_phoff = UINT32_MAX;
    CHECK(is_foreign(&narrow, sizeof(narrow)));
    CHECK(is_foreign(&narrow, sizeof(narrow.header)));
    CHECK(!is_foreign(&narrow, sizeof(narrow.header) - 1));
    CHECK(!is_foreign(&narrow, 0));
}

TEST(a_script_is_what_its_interpreter_is)
{
    struct narrow narrow = narrow_of(ET_DYN, 0);
    int fd = file_of(&narrow, sizeof(narrow)), inner;
    char line[64];

    snprintf(line, sizeof(line), "#!/proc/self/fd/%d", fd);
    CHECK(is_foreign_text(line));
    inner = file_of(line, strlen(line));
    snprintf(line, sizeof(line), "#! \t/proc/self/fd/%d\t one two", fd);
    CHECK(is_foreign_text(line));
    snprintf(line, sizeof(line), "#!/proc/self/fd/%d\n/bin/true", fd);
    CHECK(is_foreign_text(line));
    snprintf(line, sizeof(line), "#!/proc/self/fd/%d", inner);
    CHECK(is_foreign_text(line));
    snprintf(line, sizeof(line), "# !/proc/self/fd/%d", fd);
    CHECK(!is_foreign_text(line));
    snprintf(line, sizeof(line), "#!\n/proc/self/fd/%d", fd);
    CHECK(!is_foreign_text(line));
    snprintf(line, sizeof(line), "#!/proc/self/fd/%d\rone", fd);
    CHECK(!is_foreign_text(line));
}

TEST(a_script_that_leads_nowhere_is_not_foreign)
{
    static const char *const texts[] = {
        "", "#", "#!", "#! ", "#!\n", "#!/nonexistent/program", "#!/", "#!/proc/self/exe", "echo\n",
    };
    char line[64];
    int fd = file_of("", 0);

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CHECK(!is_foreign_text(texts[i]));
    /* One that names itself. */
    snprintf(line, sizeof(line), "#!/proc/self/fd/%d\n", fd);
    CHECK(write(fd, line, strlen(line)) == (ssize_t)strlen(line));
    CHECK(!program_is_foreign(&(struct program){"", fd, AT_EMPTY_PATH, false, false}));
}

TEST(what_linux_refuses_is_not_looked_at)
{
    const char *nowhere = (const char *)8;

    CHECK(!program_is_foreign(&(struct program){nowhere, AT_FDCWD, 0, false, false}));
    CHECK(!program_is_foreign(&(struct program){nowhere, AT_FDCWD, 0, false, true}));
    CHECK(!program_is_foreign(&(struct program){nowhere, -1, AT_EMPTY_PATH, false, false}));
    CHECK(!program_is_foreign(&(struct program){NULL, AT_FDCWD, 0, false, false}));
    CHECK(!program_is_foreign(&(struct program){"", -1, AT_EMPTY_PATH, false, false}));
    CHECK(!program_is_foreign(&(struct program){"", AT_FDCWD, 0, true, false}));
    CHECK(!program_is_foreign(&(struct program){"/dev/zero", AT_FDCWD, 0, false, false}));
}

TEST(a_search_ends_where_a_path_would_be_too_long)
{
    struct narrow narrow = narrow_of(ET_DYN, 0);
    struct program program = {.fd = AT_FDCWD, .is_searched = true};
    char list[1024], name[16];
    int fd = file_of(&narrow, sizeof(narrow));

    snprintf(name, sizeof(name), "%d", fd);
    program.path = name;
    CHECK(fchmod(fd, 0700) == 0);
    CHECK(setenv("PATH", "/nonexistent::/proc/self/fd", 1) == 0);
    CHECK(program_is_foreign(&program));
    memset(list, 'x', sizeof(list));
    snprintf(list + 500, sizeof(list) - 500, ":/proc/self/fd");
    CHECK(setenv("PATH", list, 1) == 0);
    CHECK(program_is_foreign(&program));
    memset(list, 'x', sizeof(list));
    snprintf(list + 600, sizeof(list) - 600, ":/proc/self/fd");
    CHECK(setenv("PATH", list, 1) == 0);
    CHECK(!program_is_foreign(&program));
    clearenv();
    CHECK(!program_is_foreign(&program));
}

TEST(nothing_is_looked_at_when_a_filter_is_expected)
{
    struct narrow narrow = narrow_of(ET_DYN, 0);

    CHECK(is_foreign(&narrow, sizeof(narrow)));
    sys_expect_filter(SYS_FILTER_OTHERS);
    CHECK(!is_foreign(&narrow, sizeof(narrow)));
}
