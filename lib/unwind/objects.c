/*
 * Loaded objects, by glibc's own index. Runs in the program's threads; nothing here takes a lock.
 */
#include "unwind/objects.h"

#include "base/syscalls.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

/*
 * struct dl_find_object of glibc's dlfcn.h, which older headers lack. What comes behind these fields has
 * grown and may go on growing in the room that is reserved for it.
 */
struct found {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame_header;
    unsigned long long reserved[8];
};

typedef int find_object(void *address, struct found *ret_found);

static find_object *find;
static uintptr_t stack_end;
static uintptr_t vdso;
static char program_path[PATH_MAX]; /* "" when it cannot be told */

/* Which file the program itself is of; the loader has no name for it. */
static void find_program(void)
{
    long length = sys_call(SYS_readlink, (long)"/proc/self/exe", (long)program_path,
                           sizeof(program_path) - 1, 0, 0, 0);

    if (sys_failed(length))
        length = 0;
    program_path[length] = '\0';
}

bool objects_prepare(void)
{
    void **end = dlsym(RTLD_DEFAULT, "__libc_stack_end");

    find = (find_object *)(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
    stack_end = end != NULL ? (uintptr_t)*end : 0;
    vdso = getauxval(AT_SYSINFO_EHDR);
    find_program();
    return find != NULL;
}

bool objects_find(uintptr_t address, struct object *ret_object)
{
    struct found found;

    if (find == NULL || find((void *)address, &found) != 0)
        return false;
    *ret_object = (struct object){
        .start = (uintptr_t)found.map_start,
        .end = (uintptr_t)found.map_end,
        .bias = found.link_map->l_addr,
        .tables = found.eh_frame_header,
        .identity = found.link_map,
        .is_program = found.link_map->l_name == NULL || found.link_map->l_name[0] == '\0',
        .path = found.link_map->l_name,
    };
    if (ret_object->is_program)
        ret_object->path = program_path;
    return true;
}

/* The program headers. Returns how many; 0 when they are not where they are expected. */
static size_t headers_of(const struct object *object, const ElfW(Phdr) * *ret_headers)
{
    const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)object->start;

    if (object->is_program) {
        *ret_headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
        return *ret_headers != NULL ? getauxval(AT_PHNUM) : 0;
    }
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(**ret_headers) ||
        elf->e_phoff >= object->end - object->start)
        return 0;
    *ret_headers = (const ElfW(Phdr) *)(object->start + elf->e_phoff);
    return elf->e_phnum;
}

void objects_tables(const struct object *object, struct cfi_tables *ret_tables)
{
    const ElfW(Phdr) *headers = NULL;
    size_t count = headers_of(object, &headers);

    *ret_tables = (struct cfi_tables){.header = object->tables};
    for (size_t i = 0; i < count && ret_tables->count < CFI_PARTS_MAX; i++) {
        const uint8_t *start = (const uint8_t *)(object->bias + headers[i].p_vaddr);

        if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & PF_R) == 0)
            continue;
        ret_tables->parts[ret_tables->count].start = start;
        ret_tables->parts[ret_tables->count++].end = start + headers[i].p_filesz;
    }
}

/* Look for the build-id in a note segment. */
static void read_notes(const uint8_t *at, size_t left, struct object_identity *identity)
{
    while (left >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        size_t name_bytes = (note->n_namesz + (size_t)3) & ~(size_t)3;
        size_t whole_bytes =
            sizeof(*note) + name_bytes + ((note->n_descsz + (size_t)3) & ~(size_t)3);

        if (whole_bytes > left)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(ELF_NOTE_GNU) &&
            memcmp(note + 1, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            identity->build_id = at + sizeof(*note) + name_bytes;
            identity->build_id_bytes = note->n_descsz;
            return;
        }
        at += whole_bytes;
        left -= whole_bytes;
    }
}

void objects_identify(const struct object *object, struct object_identity *ret_identity)
{
    const ElfW(Phdr) *headers = NULL;
    size_t count = headers_of(object, &headers);

    *ret_identity = (struct object_identity){.is_vdso = vdso != 0 && object->start == vdso};
    for (size_t i = 0; i < count; i++) {
        uintptr_t end = headers[i].p_vaddr + headers[i].p_memsz;

        if (headers[i].p_type == PT_LOAD && end > ret_identity->extent_bytes)
            ret_identity->extent_bytes = end;
        if (headers[i].p_type == PT_NOTE && ret_identity->build_id == NULL)
            read_notes((const uint8_t *)(object->bias + headers[i].p_vaddr), headers[i].p_memsz,
                       ret_identity);
    }
}

uintptr_t objects_stack_end(void)
{
    return stack_end;
}
