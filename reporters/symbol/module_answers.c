/*
 * What files say about the addresses of a module. Runs in the tools, in a process of its own.
 *
 * What holds: a file is used when it is the one that was mapped: its build-id is the module's, or, where
 * that has none, its size and its time of change are.
 */
#include "symbol/module_answers.h"

#include "base/memory.h"
#include "capture/answers.h"
#include "memtrack/format.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_places.h"
#include "symbol/elf_image.h"
#include "symbol/lookup.h"
#include "symbol/perf_map.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
    TEXT_MOST_BYTES = 32 << 10,
};

#define NS_PER_SECOND UINT64_C(1000000000)

/* The images that there are; they stay open, as symbols point into them. */
struct finding {
    const struct module_question *question;
    const struct capture_module *module;
    struct elf_image file, inner, debug; /* all zero bytes: there is none */
    struct lookup lookup;
    struct dwarf_places *places; /* as the addresses */
    struct memory_pool pool;
    struct demangler demangler;
    enum native_source source;
};

static uint64_t changed_ns(const struct stat *status)
{
    return (uint64_t)status->st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)status->st_mtim.tv_nsec;
}

static bool is_mapped_one(const struct capture_module *module, const struct elf_image *image)
{
    if (module->build_id_bytes > 0)
        return elf_image_has_build_id(image, module->build_id, module->build_id_bytes);
    return module->file_bytes > 0 && module->file_bytes == (uint64_t)image->status.st_size &&
           module->changed_ns > 0 && module->changed_ns == changed_ns(&image->status) &&
           elf_image_build_id(image).bytes == NULL;
}

static void open_images(struct finding *finding)
{
    const struct capture_module *module = finding->module;
    struct debug_file_of of = {
        .path = module->path,
        .build_id = module->build_id,
        .build_id_bytes = module->build_id_bytes,
        .folder = finding->question->folder,
        .with_servers = finding->question->with_servers,
    };

    if (elf_image_open(module->path, &finding->file) && !is_mapped_one(module, &finding->file))
        elf_image_close(&finding->file);
    if (finding->file.bytes != NULL)
        of.image = &finding->file;
    if (of.image == NULL || elf_image_section(of.image, ".debug_info").bytes == NULL)
        debug_file_find(&of, &finding->debug);
    if (of.image != NULL)
        elf_image_unpack_inner(of.image, &finding->inner);
}

/* The symbols of all images that there are. */
static void offer_symbols(struct finding *finding)
{
    const struct elf_image *images[] = {&finding->file, &finding->inner, &finding->debug};

    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
        if (images[i]->bytes != NULL)
            elf_image_offer_symbols(images[i], &finding->lookup);
}

static void find_in_files(struct finding *finding)
{
    const struct elf_image *code, *with_lines;
    struct dwarf_question question;

    open_images(finding);
    offer_symbols(finding);
    code = finding->file.bytes != NULL ? &finding->file : &finding->debug;
    with_lines = finding->debug.bytes != NULL ? &finding->debug : &finding->file;
    if (code->bytes == NULL)
        return;
    finding->source = NATIVE_SYMBOLS;
    question = (struct dwarf_question){
        .file = with_lines,
        .code = code,
        .lookup = &finding->lookup,
        .pool = &finding->pool,
        .demangler = &finding->demangler,
    };
    if (finding->question->with_lines && dwarf_places_find(&question, finding->places))
        finding->source = NATIVE_LINES;
}

/* Ours, when it is the same. The kernel maps whole pages of it, and its headers say how many. */
static void find_in_vdso(struct finding *finding)
{
    const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
    const struct capture_module *module = finding->module;
    Elf64_Ehdr header;
    uint64_t size_bytes;

    if (bytes == NULL)
        return;
    memcpy(&header, bytes, sizeof(header));
    size_bytes = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    if (elf_image_of_memory(bytes, (size_t)size_bytes, &finding->file) &&
        elf_image_has_build_id(&finding->file, module->build_id, module->build_id_bytes)) {
        finding->source = NATIVE_SYMBOLS;
        offer_symbols(finding);
    }
}

/* Whether a map file is of the module's process: an earlier or later one may have had its number. */
static bool is_of_process(const struct finding *finding, const struct stat *status)
{
    const struct capture *capture = finding->question->capture;
    const struct capture_process *process = &capture->processes[finding->module->process_index];
    uint64_t begin_ns = capture->session.realtime_ns + process->started_ns;
    uint64_t end_ns = capture->session.realtime_ns +
                      (process->ended_ns > 0 ? process->ended_ns : capture->ended_ns);
    uint64_t changed = changed_ns(status);

    return (status->st_uid == geteuid() || status->st_uid == 0 || geteuid() == 0) &&
           changed + NS_PER_SECOND >= begin_ns && changed <= end_ns + NS_PER_SECOND;
}

static void find_in_map(struct finding *finding)
{
    struct stat status;
    size_t size_bytes;
    char *text = perf_map_read(finding->module->path, &status, &size_bytes);

    if (text == NULL || !is_of_process(finding, &status))
        return;
    perf_map_offer(text, size_bytes, &finding->lookup);
    finding->source = NATIVE_SYMBOLS;
}

/* Versions of symbols are of no interest: memcpy@@GLIBC_2.14. */
static const char *symbol_name(struct finding *finding, const char *name)
{
    const char *at = strchr(name, '@');

    if (finding->module->kind == MODULE_JIT)
        return name;
    if (at != NULL && at > name)
        return memory_pool_copy(&finding->pool, name, (size_t)(at - name));
    return demangler_name(&finding->demangler, name);
}

/* The function that an address is in, where debugging information may know better or less. */
static const char *function_name(struct finding *finding, size_t index)
{
    const struct dwarf_places *places = &finding->places[index];
    const char *symbol = finding->lookup.symbols[index].name, *name = NULL, *symbol_text;

    if (places->count > 0)
        name = places->places[places->count - 1].function;
    if (symbol == NULL || (name != NULL && !places->is_short))
        return name;
    symbol_text = symbol_name(finding, symbol);
    /* A symbol of C has what a compiler did to the function in it: load.part.0. */
    return name != NULL && symbol_text == symbol ? name : symbol_text;
}

/* A longer name is no name that a compiler made, or nobody could read it. */
static const char *bounded(const char *text)
{
    return text != NULL && strlen(text) <= TEXT_MOST_BYTES ? text : "";
}

static void put_address(struct finding *finding, size_t index, struct answers *answers)
{
    const struct dwarf_places *places = &finding->places[index];
    const char *function = function_name(finding, index);
    uint32_t count = places->count < ANSWER_PLACES_MOST ? places->count : ANSWER_PLACES_MOST;

    answers_number(answers, count == 0 && function != NULL ? 1 : count);
    if (count == 0 && function != NULL)
        answers_place(answers, bounded(function), "", 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct native_place *place = &places->places[i];
        const char *own = i == count - 1 ? function : place->function;

        answers_place(answers, bounded(own), bounded(place->file), place->line, place->column);
    }
}

void module_answers_find(const struct module_question *question, const uint8_t **ret_bytes,
                         size_t *ret_size_bytes)
{
    struct finding finding = {
        .question = question,
        .module = &question->capture->modules[question->module],
        .lookup = {question->addresses, question->count, NULL},
        .places = memory_allocate(question->count, sizeof(*finding.places)),
    };
    struct answers answers = {0};

    finding.lookup.symbols = memory_allocate(question->count, sizeof(*finding.lookup.symbols));
    switch (finding.module->kind) {
    case MODULE_FILE:
        find_in_files(&finding);
        break;
    case MODULE_VDSO:
        find_in_vdso(&finding);
        break;
    case MODULE_JIT:
        find_in_map(&finding);
        break;
    default:
        break;
    }
    answers_number(&answers, finding.source);
    for (size_t i = 0; i < question->count; i++)
        put_address(&finding, i, &answers);
    *ret_bytes = answers.bytes;
    *ret_size_bytes = answers.size_bytes;
}
