/*
 * Native stacks in words. Runs in the tools.
 */
#include "render/native_parts.h"

#include "memtrack/protocol.h"
#include "print/numbers.h"
#include "print/table.h"
#include "print/wrap.h"
#include "render/parts.h"
#include "symbol/naming.h"

static const char *const reasons[NAMING_REASON_COUNT] = {
    [NAMING_MISSING] = "the file is not there",
    [NAMING_CHANGED] = "the file is another one by now",
    [NAMING_DAMAGED] = "the file cannot be read",
    [NAMING_STRIPPED] = "it has no names for them",
    [NAMING_GENERATED] = "made as the program ran",
};

static const char *const reason_words[NAMING_REASON_COUNT] = {
    [NAMING_MISSING] = "missing",   [NAMING_CHANGED] = "changed",     [NAMING_DAMAGED] = "damaged",
    [NAMING_STRIPPED] = "stripped", [NAMING_GENERATED] = "generated",
};

static bool is_shown(const struct render_input *input)
{
    return (input->capture->session.options & POOL_OPTION_NATIVE) != 0 &&
           !input->options->hides_native;
}

static uint64_t fallbacks_of(const struct capture *capture)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < capture->process_count; i++)
        sum += capture->processes[i].counters[COUNTER_UNWINDER];
    return sum;
}

static void write_modules(const struct render_input *input, const struct naming *naming, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "UNNAMED", .kind = TABLE_NUMBER},
        {.title = "OF", .kind = TABLE_NUMBER},
        {.title = "MODULE", .kind = TABLE_PATH},
        {.title = "WHY", .kind = TABLE_TEXT},
    };
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    size_t limit = parts_row_limit(input->options, naming->count);

    for (size_t i = 0; i < limit; i++) {
        const struct naming_module *module = &naming->modules[i];

        table_add(table, numbers_format_count(module->unnamed).text);
        table_add(table, numbers_format_count(module->addresses).text);
        table_add(table, module->path[0] != '\0' ? module->path : module->name);
        table_add(table, reasons[module->reason]);
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, naming->count, limit, "module", "modules");
}

void native_parts_write(const struct render_input *input, unsigned title_columns, FILE *out)
{
    uint64_t fallbacks = fallbacks_of(input->capture);
    struct naming naming;
    struct wrap_line line;
    char title[32];

    if (!is_shown(input))
        return;
    naming = naming_collect(input->capture, input->frames);
    snprintf(title, sizeof(title), "%-*s", (int)title_columns, "native");
    wrap_begin(&line, out, input->options->width_columns, title, title_columns);
    wrap_add(&line, "", "%s module%s", numbers_format_count(naming.module_count).text,
             numbers_plural(naming.module_count));
    wrap_add(&line, "   ", "%s frame%s", numbers_format_count(naming.addresses).text,
             numbers_plural(naming.addresses));
    wrap_add(&line, "   ", "%s without a name", numbers_format_count(naming.unnamed).text);
    if (fallbacks > 0)
        wrap_add(&line, "   ", "%s fallback%s of the unwinder",
                 numbers_format_count(fallbacks).text, numbers_plural(fallbacks));
    wrap_end(&line);
    if (naming.count > 0)
        write_modules(input, &naming, out);
    naming_finish(&naming);
}

void native_parts_write_json(struct json_writer *json, const struct render_input *input)
{
    struct naming naming;

    if (!is_shown(input)) {
        json_write_null(json, "native_names");
        return;
    }
    naming = naming_collect(input->capture, input->frames);
    json_write_open_object(json, "native_names");
    json_write_number(json, "modules", naming.module_count);
    json_write_number(json, "addresses", naming.addresses);
    json_write_number(json, "unnamed", naming.unnamed);
    json_write_number(json, "unwinder_fallbacks", fallbacks_of(input->capture));
    json_write_open_rows(json, "unnamed_modules");
    for (size_t i = 0; i < naming.count; i++) {
        const struct naming_module *module = &naming.modules[i];

        json_write_open_object(json, NULL);
        json_write_text(json, "module", module->name);
        json_write_name(json, "path", module->path);
        json_write_number(json, "addresses", module->addresses);
        json_write_number(json, "unnamed", module->unnamed);
        json_write_text(json, "why", reason_words[module->reason]);
        json_write_close(json);
    }
    json_write_close(json);
    json_write_close(json);
    naming_finish(&naming);
}
