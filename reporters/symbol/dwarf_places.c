/*
 * Places from DWARF, with elfutils' libdw. Runs in the tools, in a process of its own.
 *
 * What holds: an address is of one unit, whose ranges hold it and which claimed it first. Units are found
 * by their own ranges, not by .debug_aranges, which clang does not write.
 */
#include "symbol/dwarf_places.h"

#include "base/hash_index.h"
#include "symbol/dwarf_scopes.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file's name as libdw has it, and the whole path. */
struct file_path {
    const char *from, *path;
};

/* A compilation unit. */
struct unit {
    Dwarf_CU *unit;
};

/* An address, by the unit that it is of. */
struct unit_address {
    uint32_t unit, index;
};

struct sweep {
    const struct dwarf_question *question;
    struct dwarf_places *places;
    struct dwarf_scopes scopes;
    Dwarf *dwarf;
    struct unit *units;
    size_t unit_count, unit_capacity;
    uint32_t *address_units; /* as lookup->addresses; UNIT_NONE */
    /* Of the unit at hand: */
    const char *directory; /* where it was compiled; NULL: not known */
    Dwarf_Lines *lines;
    size_t line_count;
    Dwarf_Files *files;
    struct file_path *paths; /* of files that are not absolute */
    size_t path_count, path_capacity;
    struct hash_index path_index;
};

static void claim(struct sweep *sweep, Dwarf_Die *unit_die, uint32_t unit)
{
    const struct dwarf_question *question = sweep->question;
    Dwarf_Addr base, begin, end;
    ptrdiff_t offset = 0;

    while ((offset = dwarf_ranges(unit_die, offset, &base, &begin, &end)) > 0) {
        size_t first, count = lookup_find(question->lookup, begin, end, &first);

        if (count == 0 || begin == 0 || !elf_image_is_code(question->code, begin, end))
            continue;
        for (size_t i = first; i < first + count; i++)
            if (sweep->address_units[i] == UNIT_NONE)
                sweep->address_units[i] = unit;
    }
}

static void claim_all(struct sweep *sweep)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die unit_die;
    uint8_t type;

    while (sweep->unit_count < UNIT_NONE &&
           dwarf_get_units(sweep->dwarf, unit, &unit, NULL, &type, &unit_die, NULL) == 0) {
        if (type == DW_UT_type || type == DW_UT_split_type)
            continue;
        sweep->units = memory_grow(sweep->units, &sweep->unit_capacity, sweep->unit_count + 1,
                                   sizeof(*sweep->units));
        sweep->units[sweep->unit_count].unit = unit;
        claim(sweep, &unit_die, (uint32_t)sweep->unit_count++);
    }
}

/* The last row that does not begin behind an address, unless the code ends with it. */
static Dwarf_Line *find_line(const struct sweep *sweep, uint64_t address)
{
    size_t low = 0, high = sweep->line_count; /* rows below low begin at the address or before it */
    Dwarf_Line *line;
    bool is_end = true;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        Dwarf_Addr begin;

        if (dwarf_lineaddr(dwarf_onesrcline(sweep->lines, middle), &begin) != 0)
            return NULL;
        if (begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    line = dwarf_onesrcline(sweep->lines, low - 1);
    return dwarf_lineendsequence(line, &is_end) == 0 && !is_end ? line : NULL;
}

static bool is_from(const void *items, uint32_t item, const void *key)
{
    return ((const struct file_path *)items)[item].from == key;
}

/* Names that are not absolute begin where the unit was compiled. */
static const char *path_of(struct sweep *sweep, const char *file)
{
    const char *directory = sweep->directory, *rest = file;
    uint64_t hash = hash_index_mix((uintptr_t)file, 0);
    struct file_path path = {.from = file};
    uint32_t found;
    char *text;

    if (file[0] == '/' || directory == NULL || directory[0] != '/')
        return file;
    found = hash_index_find(&sweep->path_index, hash, is_from, sweep->paths, file);
    if (found != HASH_INDEX_NONE)
        return sweep->paths[found].path;
    while (strncmp(rest, "./", 2) == 0)
        rest += 2;
    if (asprintf(&text, "%s%s%s", directory, strcmp(directory, "/") != 0 ? "/" : "", rest) < 0)
        memory_stop();
    path.path = memory_pool_copy(sweep->question->pool, text, strlen(text));
    free(text);
    sweep->paths = memory_grow(sweep->paths, &sweep->path_capacity, sweep->path_count + 1,
                               sizeof(*sweep->paths));
    hash_index_add(&sweep->path_index, hash, (uint32_t)sweep->path_count);
    sweep->paths[sweep->path_count++] = path;
    return path.path;
}

static uint32_t positive(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

static void place_of_line(struct sweep *sweep, uint64_t address, struct native_place *place)
{
    Dwarf_Line *line = find_line(sweep, address);
    const char *file = line != NULL ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number = 0, column = 0;

    if (file == NULL)
        return;
    place->file = path_of(sweep, file);
    if (dwarf_lineno(line, &number) == 0 && dwarf_linecol(line, &column) == 0) {
        place->line = positive(number);
        place->column = positive(column);
    }
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* Where a function was inlined. */
static void place_of_call(struct sweep *sweep, Dwarf_Die *inlined, struct native_place *place)
{
    Dwarf_Attribute attribute;
    Dwarf_Word index;
    const char *file = NULL;

    if (sweep->files != NULL &&
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &index) == 0)
        file = dwarf_filesrc(sweep->files, index, NULL, NULL);
    if (file == NULL)
        return;
    place->file = path_of(sweep, file);
    place->line = number_of(inlined, DW_AT_call_line);
    place->column = number_of(inlined, DW_AT_call_column);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;

    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* Another name for linkers is worth having where it says more: getaddrinfo is __GI_getaddrinfo to them. */
static const char *mangled_name(Dwarf_Die *die)
{
    const char *name = text_of(die, DW_AT_linkage_name);

    if (name == NULL)
        name = text_of(die, DW_AT_MIPS_linkage_name);
    return name != NULL && demangler_is_mangled(name) ? name : NULL;
}

static const char *name_of(const struct sweep *sweep, struct dwarf_scope *scope)
{
    const char *name;

    if (scope->is_named)
        return scope->name;
    scope->is_named = true;
    name = mangled_name(&scope->die);
    scope->is_short = name == NULL;
    scope->name = name != NULL ? demangler_name(sweep->question->demangler, name)
                               : text_of(&scope->die, DW_AT_name);
    return scope->name;
}

static void answer(struct sweep *sweep, size_t index)
{
    struct dwarf_scope *scopes = sweep->scopes.items;
    uint32_t scope = sweep->scopes.innermost[index], count = 1;
    struct native_place *place;

    for (uint32_t i = scopes[scope].parent; i != 0; i = scopes[i].parent)
        count++;
    place = memory_pool_allocate(sweep->question->pool, count * sizeof(*place));
    sweep->places[index] = (struct dwarf_places){place, count, false};
    *place = (struct native_place){.file = ""};
    place_of_line(sweep, sweep->question->lookup->addresses[index], place);
    for (; scopes[scope].parent != 0; scope = scopes[scope].parent) {
        place->function = name_of(sweep, &scopes[scope]);
        place->is_inlined = true;
        place++;
        *place = (struct native_place){.file = ""};
        place_of_call(sweep, &scopes[scope].die, place);
    }
    if (scope != 0) {
        place->function = name_of(sweep, &scopes[scope]);
        sweep->places[index].is_short = scopes[scope].is_short;
    }
}

/* All that the addresses of one unit come to. */
static void answer_unit(struct sweep *sweep, const struct unit_address *addresses, size_t count)
{
    Dwarf_Die unit_die, split_die;
    uint32_t unit = addresses[0].unit;
    size_t file_count;
    bool is_split;

    if (dwarf_cu_info(sweep->units[unit].unit, NULL, NULL, &unit_die, &split_die, NULL, NULL,
                      NULL) != 0)
        return;
    is_split = dwarf_tag(&split_die) != DW_TAG_invalid;
    dwarf_scopes_walk(&sweep->scopes, is_split ? &split_die : &unit_die, unit);
    sweep->directory = text_of(&unit_die, DW_AT_comp_dir);
    sweep->path_count = 0;
    hash_index_finish(&sweep->path_index);
    if (dwarf_getsrclines(&unit_die, &sweep->lines, &sweep->line_count) != 0)
        sweep->line_count = 0;
    if (dwarf_getsrcfiles(is_split ? &split_die : &unit_die, &sweep->files, &file_count) != 0)
        sweep->files = NULL;
    for (size_t i = 0; i < count; i++)
        answer(sweep, addresses[i].index);
}

static int compare_addresses(const void *left, const void *right)
{
    const struct unit_address *a = left, *b = right;

    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void answer_all(struct sweep *sweep)
{
    size_t count = sweep->question->lookup->count, used = 0, next;
    struct unit_address *addresses = memory_allocate(count, sizeof(*addresses));

    for (size_t i = 0; i < count; i++)
        if (sweep->address_units[i] != UNIT_NONE)
            addresses[used++] = (struct unit_address){sweep->address_units[i], (uint32_t)i};
    qsort(addresses, used, sizeof(*addresses), compare_addresses);
    for (size_t i = 0; i < used; i = next) {
        for (next = i; next < used && addresses[next].unit == addresses[i].unit; next++)
            ;
        answer_unit(sweep, addresses + i, next - i);
    }
    free(addresses);
}

bool dwarf_places_find(const struct dwarf_question *question, struct dwarf_places *places)
{
    size_t count = question->lookup->count;
    struct sweep sweep = {.question = question, .places = places};
    Elf *elf;

    elf_version(EV_CURRENT);
    elf = elf_begin(question->file->fd, ELF_C_READ_MMAP, NULL);
    sweep.dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (sweep.dwarf == NULL)
        return false;
    sweep.address_units = memory_allocate(count, sizeof(*sweep.address_units));
    memset(sweep.address_units, 0xff, count * sizeof(*sweep.address_units));
    sweep.scopes = (struct dwarf_scopes){
        .code = question->code,
        .lookup = question->lookup,
        .units = sweep.address_units,
        .innermost = memory_allocate(count, sizeof(*sweep.scopes.innermost)),
    };
    sweep.units = memory_grow(NULL, &sweep.unit_capacity, 1, sizeof(*sweep.units));
    claim_all(&sweep);
    answer_all(&sweep);
    free(sweep.address_units);
    free(sweep.scopes.innermost);
    free(sweep.scopes.items);
    free(sweep.units);
    free(sweep.paths);
    hash_index_finish(&sweep.path_index);
    return true; /* the texts are libdw's, which stays open */
}

bool dwarf_places_is_built_in(void)
{
    return true;
}
