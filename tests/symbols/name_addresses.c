/*
 * Names addresses of one module as reports do, for comparison with other programs that can.
 *
 * Usage: name_addresses [-f FOLDER] [-b BUILD-ID] [-c] [-q] [-s] MODULE < ADDRESSES
 * Addresses in hexadecimal, one a line; they are those of instructions. -f: of debug files, not
 * /usr/lib/debug. -b: in hexadecimal; left out, the file's own. -c: the file was changed since. -q: be quick. -s: instead of all answers say
 * where they came from, how long it took and how many there are.
 * With -l alone: the libraries that it was built with.
 * For each address: its number, then its places, innermost first: function, file, line, column.
 */
#include "base/memory.h"
#include "memtrack/format.h"
#include "symbol/elf_image.h"
#include "symbol/native.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    BUILD_ID_MOST = 64,
};

static struct capture_module modules[2];
static struct capture capture = {.modules = modules, .module_count = 2};
static uint8_t build_id[BUILD_ID_MOST];

static uint64_t since_start_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void read_nodes(void)
{
    size_t capacity = 0;
    uint64_t address;

    capture.native_nodes = memory_grow(NULL, &capacity, 1, sizeof(*capture.native_nodes));
    capture.native_nodes[0] = (struct capture_native_node){0};
    capture.native_node_count = 1;
    while (scanf("%" SCNx64, &address) == 1) {
        capture.native_nodes =
            memory_grow(capture.native_nodes, &capacity, (size_t)capture.native_node_count + 1,
                        sizeof(*capture.native_nodes));
        capture.native_nodes[capture.native_node_count++] =
            (struct capture_native_node){.module = 1, .offset = address, .is_exact = true};
    }
}

/* As the collector does when it meets a module. */
static void describe_file(const char *path, const char *said)
{
    struct elf_image image;
    struct elf_part own;

    modules[1].build_id = build_id;
    if (said != NULL) {
        for (; sscanf(said, "%2hhx", &build_id[modules[1].build_id_bytes]) == 1; said += 2)
            modules[1].build_id_bytes++;
    } else if (elf_image_open(path, &image)) {
        own = elf_image_build_id(&image);
        if (own.size_bytes <= BUILD_ID_MOST && own.bytes != NULL) {
            memcpy(build_id, own.bytes, own.size_bytes);
            modules[1].build_id_bytes = (uint32_t)own.size_bytes;
        }
        modules[1].file_bytes = (uint64_t)image.status.st_size;
        modules[1].changed_ns = (uint64_t)image.status.st_mtim.tv_sec * 1000000000 +
                                (uint64_t)image.status.st_mtim.tv_nsec;
        elf_image_close(&image);
    }
}

/* A damaged file's names may hold anything; ours are parted by tabs and lines. */
static void print_text(const char *text)
{
    putchar('\t');
    for (; *text != '\0'; text++)
        putchar((unsigned char)*text < ' ' ? '?' : *text);
}

static void print_places(struct native_symbols *symbols)
{
    for (uint32_t node = 1; node < capture.native_node_count; node++) {
        const struct native_place *places;
        uint32_t count = native_symbols_of_node(symbols, node, &places);

        printf("0x%" PRIx64 "\n", capture.native_nodes[node].offset);
        for (uint32_t i = 0; i < count; i++) {
            print_text(places[i].function);
            print_text(places[i].file);
            printf("\t%u\t%u\t%d\n", places[i].line, places[i].column, places[i].is_inlined);
        }
    }
}

static void print_summary(struct native_symbols *symbols, uint64_t taken_ns)
{
    static const char *const sources[] = {"nothing", "failed", "symbols", "lines", "stored"};
    struct rusage usage;
    uint64_t place_count = 0;

    for (uint32_t node = 1; node < capture.native_node_count; node++) {
        const struct native_place *places;

        place_count += native_symbols_of_node(symbols, node, &places);
    }
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%s %u addresses %" PRIu64 " places %.3f s %.3f s of them by processes, %ld MB\n",
           sources[native_symbols_source(symbols, 1)], capture.native_node_count - 1, place_count,
           (double)taken_ns / 1e9,
           (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
               (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6,
           usage.ru_maxrss / 1024);
}

static int print_libraries(void)
{
    struct native_libraries libraries = native_libraries();

    printf("%s %s %s\n", libraries.has_libdw ? "libdw" : "", libraries.has_liblzma ? "liblzma" : "",
           libraries.has_libiberty ? "libiberty" : "");
    return 0;
}

int main(int argc, char **argv)
{
    const char *folder = NULL, *said = NULL;
    struct native_symbols *symbols;
    bool is_summary = false, is_changed = false, is_quick = false;
    uint32_t *wanted;
    uint64_t begin_ns;
    int option;

    modules[1].kind = MODULE_FILE;
    while ((option = getopt(argc, argv, "f:b:cqsl")) != -1) {
        if (option == 'f')
            folder = optarg;
        else if (option == 'b')
            said = optarg;
        else if (option == 'c')
            is_changed = true;
        else if (option == 'q')
            is_quick = true;
        else if (option == 's')
            is_summary = true;
        else if (option == 'l')
            return print_libraries();
        else
            return 2;
    }
    if (optind != argc - 1)
        return 2;
    modules[0].path = "";
    modules[1].path = argv[optind];
    describe_file(argv[optind], said);
    modules[1].changed_ns += is_changed;
    read_nodes();
    symbols = native_symbols_create(&capture);
    if (folder != NULL)
        native_symbols_set_folder(symbols, folder);
    if (is_quick)
        native_symbols_be_quick(symbols);
    wanted = memory_allocate(capture.native_node_count, sizeof(*wanted));
    for (uint32_t i = 1; i < capture.native_node_count; i++)
        wanted[i] = i;
    begin_ns = since_start_ns();
    native_symbols_resolve(symbols, wanted + 1, capture.native_node_count - 1);
    if (is_summary)
        print_summary(symbols, since_start_ns() - begin_ns);
    else
        print_places(symbols);
    native_symbols_destroy(symbols);
    free(wanted);
    free(capture.native_nodes);
    return 0;
}
