/*
 * `memtrack stats`, the processes and threads: those with the highest peaks first. Runs in the tools.
 */
#include "render/stats.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "print/numbers.h"
#include "print/table.h"
#include "render/parts.h"
#include "report/labels.h"

#include <stdlib.h>

/* Processes or threads, by index, in the order in which they are shown. */
struct owners {
    uint32_t *order;
    size_t count, limit;
};

static int compare_owners(const void *first, const void *second, void *user)
{
    const struct profile_owner *owners = user;
    uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;

    if (owners[a].peak_bytes != owners[b].peak_bytes)
        return owners[a].peak_bytes < owners[b].peak_bytes ? 1 : -1;
    if (owners[a].allocated_bytes != owners[b].allocated_bytes)
        return owners[a].allocated_bytes < owners[b].allocated_bytes ? 1 : -1;
    return (a > b) - (a < b);
}

static bool is_process_shown(const struct render_input *input, uint32_t process)
{
    uint32_t wanted = input->options->process_number;

    return wanted == 0 || input->capture->processes[process].number == wanted;
}

static bool is_thread_shown(const struct render_input *input, uint32_t thread)
{
    const struct capture_thread *row = &input->capture->threads[thread];

    return is_process_shown(input, row->process_index) &&
           (input->options->tid == 0 || input->options->tid == row->tid);
}

static struct owners sort_owners(const struct render_input *input, uint32_t count,
                                 struct profile_owner *owners,
                                 bool (*is_shown)(const struct render_input *, uint32_t))
{
    struct owners sorted = {.order = memory_allocate(count, sizeof(sorted.order[0]))};

    for (uint32_t i = 0; i < count; i++) {
        if (is_shown(input, i))
            sorted.order[sorted.count++] = i;
    }
    qsort_r(sorted.order, sorted.count, sizeof(sorted.order[0]), compare_owners, owners);
    sorted.limit = parts_row_limit(input->options, sorted.count);
    return sorted;
}

static const char *end_text(struct memory_pool *pool, const struct capture_process *process)
{
    char text[48];
    int length;

    if (!process->is_tracked)
        return "not tracked";
    switch (process->end) {
    case 0:
        return "";
    case END_CODE:
        length = snprintf(text, sizeof(text), "exit %lld", (long long)process->end_code);
        return memory_pool_copy(pool, text, (size_t)length);
    case END_SIGNAL:
        return label_signal(pool, process->end_code);
    case END_EXEC:
        return "exec";
    default:
        return "ended";
    }
}

static void add_pid(struct table *table, const struct capture *capture, uint32_t process)
{
    char text[16] = "";

    if (process < capture->process_count)
        snprintf(text, sizeof(text), "%u", capture->processes[process].pid);
    table_add(table, text);
}

static void add_size(struct table *table, uint64_t bytes)
{
    table_add(table, units_format_size(bytes, 0).text);
}

void stats_write_processes(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "PID", .kind = TABLE_NUMBER},   {.title = "PARENT", .kind = TABLE_NUMBER},
        {.title = "PEAK", .kind = TABLE_NUMBER},  {.title = "RSS", .kind = TABLE_NUMBER},
        {.title = "COUNT", .kind = TABLE_NUMBER}, {.title = "STARTED", .kind = TABLE_NUMBER},
        {.title = "END", .kind = TABLE_WORD},     {.title = "COMMAND", .kind = TABLE_TEXT},
    };
    const struct capture *capture = input->capture;
    struct profile_owner *owners = input->profile->processes;
    struct owners sorted = sort_owners(input, capture->process_count, owners, is_process_shown);
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < sorted.limit; i++) {
        const struct capture_process *process = &capture->processes[sorted.order[i]];
        const struct profile_owner *owner = &owners[sorted.order[i]];

        add_pid(table, capture, sorted.order[i]);
        add_pid(table, capture, capture_process_index(capture, process->parent_number));
        add_size(table, owner->peak_bytes);
        if (owner->peak_rss_bytes > 0)
            add_size(table, owner->peak_rss_bytes);
        else
            table_add(table, "");
        table_add(table, numbers_format_count(owner->allocations).text);
        table_add(table, units_format_time(process->started_ns, 0).text);
        table_add(table, end_text(&pool, process));
        table_add(table, label_short_command(&pool, process->arguments));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, sorted.count, sorted.limit, "process", "processes");
    memory_pool_finish(&pool);
    free(sorted.order);
}

void stats_write_threads(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "PID", .kind = TABLE_NUMBER},   {.title = "TID", .kind = TABLE_NUMBER},
        {.title = "PEAK", .kind = TABLE_NUMBER},  {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "COUNT", .kind = TABLE_NUMBER}, {.title = "THREAD", .kind = TABLE_TEXT},
    };
    const struct capture *capture = input->capture;
    struct profile_owner *owners = input->profile->threads;
    struct owners sorted = sort_owners(input, capture->thread_count, owners, is_thread_shown);
    /* Of one process nobody needs to be told which. */
    unsigned first_column = capture->process_count > 1 ? 0 : 1;
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns + first_column,
                                       sizeof(columns) / sizeof(columns[0]) - first_column, &style);
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < sorted.limit; i++) {
        const struct capture_thread *thread = &capture->threads[sorted.order[i]];
        const struct profile_owner *owner = &owners[sorted.order[i]];
        char tid[16];

        if (first_column == 0)
            add_pid(table, capture, thread->process_index);
        snprintf(tid, sizeof(tid), "%u", thread->tid);
        table_add(table, tid);
        add_size(table, owner->peak_bytes);
        add_size(table, owner->allocated_bytes);
        table_add(table, numbers_format_count(owner->allocations).text);
        table_add(table, label_thread(&pool, capture, sorted.order[i] + 1));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, sorted.count, sorted.limit, "thread", "threads");
    memory_pool_finish(&pool);
    free(sorted.order);
}
