/*
 * Tests of reading programs' heads: files of all kinds, whole and damaged.
 */
#include "executable.h"

#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static char directory[] = "/tmp/memtrack-test-XXXXXX";

static const char *file_with(const void *bytes, size_t count)
{
    static char path[64];
    FILE *file;

    if (strstr(directory, "XXXXXX") != NULL)
        CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/program", directory);
    file = fopen(path, "w");
    CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
    return path;
}

static void remove_files(void)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/program", directory);
    unlink(path);
    rmdir(directory);
}

TEST(libraries_that_a_program_needs_are_found)
{
    CHECK(executable_needs("/proc/self/exe", "libc.so"));
    CHECK(!executable_needs("/proc/self/exe", "libnothing.so"));
    CHECK(!executable_needs("/nonexistent/program", "libc.so"));
    CHECK(!executable_needs(file_with("\177ELF", 4), "libc.so"));
    remove_files();
}

/* That libc defines it too makes it an export of this program. */
long a64l(const char *text)
{
    return text[0];
}

TEST(names_that_a_program_exports_are_found)
{
    CHECK(executable_exports("/proc/self/exe", "a64l"));
    CHECK(!executable_exports("/proc/self/exe", "malloc")); /* used, not defined */
    CHECK(!executable_exports("/proc/self/exe", "no_such_name"));
    CHECK(!executable_exports("/nonexistent/program", "a64l"));
    CHECK(!executable_exports(file_with("\177ELF", 4), "a64l"));
    remove_files();
}

/* What comes of each wrong byte is not known: only that an answer does. */
TEST(wrong_bytes_in_a_program_ask_for_no_more_than_it_has)
{
    static unsigned char head[4096], damaged[4096];
    FILE *own = fopen("/proc/self/exe", "r");
    size_t count = fread(head, 1, sizeof(head), own);

    fclose(own);
    for (size_t i = 0; i < count && i < 1000; i++) {
        memcpy(damaged, head, count);
        damaged[i] ^= 0xff;
        executable_needs(file_with(damaged, count), "libc.so");
        executable_exports(file_with(damaged, count), "a64l");
    }
    CHECK(count > 1000);
    remove_files();
}

TEST(first_lines_name_their_interpreter)
{
    static const struct {
        const char *line, *interpreter, *program;
        bool is_python;
    } cases[] = {
        {"#!/bin/sh\n", "/bin/sh", "", false},
        {"#! /bin/sh -e\nrest", "/bin/sh", "", false},
        {"#!/usr/bin/env python3\n", "/usr/bin/env", "python3", true},
        {"#!/usr/bin/env -S python3.12 -u\n", "/usr/bin/env", "python3.12", true},
        {"#!/usr/bin/env A=1 perl\n", "/usr/bin/env", "perl", false},
        {"#!/opt/venv/bin/python", "/opt/venv/bin/python", "", true},
        {"#!/usr/bin/env", "/usr/bin/env", "", false},
        {"#!\n", "", "", false},
        {"#! \n/bin/sh", "", "", false},
    };
    struct executable_elf elf;
    struct executable_script script;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = file_with(cases[i].line, strlen(cases[i].line));

        test_case("%s", cases[i].line);
        CHECK(executable_read(path, &elf, &script) == EXECUTABLE_SCRIPT);
        CHECK_TEXT(script.interpreter, cases[i].interpreter);
        CHECK_TEXT(script.program, cases[i].program);
        CHECK(executable_is_python(&script) == cases[i].is_python);
    }
    remove_files();
}

TEST(a_first_line_of_any_length_is_safe)
{
    char line[3 * EXECUTABLE_LINE_BYTES];
    struct executable_elf elf;
    struct executable_script script;

    memset(line, 'x', sizeof(line));
    memcpy(line, "#!", 2);
    CHECK(executable_read(file_with(line, sizeof(line)), &elf, &script) == EXECUTABLE_SCRIPT);
    CHECK(strlen(script.interpreter) < sizeof(script.interpreter));
    remove_files();
}

TEST(this_test_has_a_loader)
{
    struct executable_elf elf;
    struct executable_script script;

    CHECK(executable_read("/proc/self/exe", &elf, &script) == EXECUTABLE_ELF);
    CHECK(elf.is_64_bit && elf.has_loader && access(elf.loader, R_OK) == 0);
}

/* The smallest ELF file with one program header, a loader's path behind it. */
struct small_program {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    char loader[16];
};

static struct small_program make_program(void)
{
    return (struct small_program){
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_machine = EM_X86_64,
                   .e_phoff = offsetof(struct small_program, part),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .part = {.p_type = PT_INTERP,
                 .p_offset = offsetof(struct small_program, loader),
                 .p_filesz = 16},
        .loader = "/lib/ld-test.so",
    };
}

static enum executable_kind read_program(const void *bytes, size_t count,
                                         struct executable_elf *elf)
{
    struct executable_script script;

    return executable_read(file_with(bytes, count), elf, &script);
}

TEST(the_loader_is_read)
{
    struct small_program program = make_program();
    struct executable_elf elf;

    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_ELF);
    CHECK_TEXT(elf.loader, "/lib/ld-test.so");
    CHECK_EQUAL(elf.machine, EM_X86_64);
    remove_files();
}

TEST(a_program_without_loader_is_static)
{
    struct small_program program = make_program();
    struct executable_elf elf;

    program.part.p_type = PT_LOAD;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_ELF);
    CHECK(!elf.has_loader);
    program.header.e_phnum = 0;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_ELF);
    CHECK(!elf.has_loader);
    remove_files();
}

TEST(foreign_classes_and_byte_orders_are_seen)
{
    struct small_program program = make_program();
    struct executable_elf elf;

    program.header.e_ident[EI_CLASS] = ELFCLASS32;
    program.header.e_machine = EM_386;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_ELF);
    CHECK_TEXT(executable_machine_name(elf.machine, elf.is_64_bit), "i386");
    program.header.e_ident[EI_CLASS] = ELFCLASS64;
    program.header.e_ident[EI_DATA] = ELFDATA2MSB;
    program.header.e_machine = (uint16_t)(EM_S390 << 8);
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_ELF);
    CHECK_TEXT(executable_machine_name(elf.machine, elf.is_64_bit), "s390x");
    CHECK_TEXT(executable_machine_name(0xffff, true), "unknown");
    remove_files();
}

TEST(damaged_headers_are_no_programs)
{
    struct small_program program = make_program();
    struct executable_elf elf;

    /* Cut anywhere: never read beyond what is there. */
    for (size_t count = 0; count < sizeof(program); count++) {
        test_case("%zu bytes", count);
        CHECK(read_program(&program, count, &elf) == EXECUTABLE_OTHER);
    }
    test_case("loader far away");
    program.part.p_offset = UINT64_MAX - 3;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_OTHER);
    test_case("loader without end");
    program = make_program();
    memset(program.loader, 'x', sizeof(program.loader));
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_OTHER);
    test_case("loader too long");
    program = make_program();
    program.part.p_filesz = UINT64_MAX;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_OTHER);
    test_case("headers far away");
    program = make_program();
    program.header.e_phoff = UINT64_MAX - 8;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_OTHER);
    test_case("headers of another size");
    program = make_program();
    program.header.e_phentsize = 8;
    CHECK(read_program(&program, sizeof(program), &elf) == EXECUTABLE_OTHER);
    remove_files();
}

TEST(programs_are_found_as_a_shell_finds_them)
{
    char path[64], *found;

    snprintf(path, sizeof(path), "%s", file_with("", 0));
    setenv("PATH", "/nonexistent:/usr/bin:/bin", 1);
    found = executable_find("sh");
    CHECK(found != NULL && access(found, X_OK) == 0);
    free(found);
    found = executable_find("./sh");
    CHECK_TEXT(found, "./sh");
    free(found);
    CHECK(executable_find("no-such-program") == NULL && errno == ENOENT);
    CHECK(executable_find("") == NULL && errno == ENOENT);
    setenv("PATH", directory, 1);
    CHECK(executable_find("program") == NULL && errno == EACCES);
    CHECK(chmod(path, 0755) == 0);
    found = executable_find("program");
    CHECK_TEXT(found, path);
    free(found);
    setenv("PATH", "", 1);
    CHECK(chdir(directory) == 0);
    found = executable_find("program");
    CHECK_TEXT(found, "./program");
    free(found);
    remove_files();
}
