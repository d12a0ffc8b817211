/*
 * Says as JSON what the programs make of a capture, for comparison with capture_model.py.
 *
 * Usage: print_model CAPTURE [PROCESS [TID [THRESHOLD [pools]]]]
 */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_totals(const struct profile_totals *t)
{
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {
        {"allocations", t->allocations},
        {"frees", t->frees},
        {"allocated_bytes", t->allocated_bytes},
        {"peak_bytes", t->peak_bytes},
        {"peak_allocations", t->peak_allocations},
        {"peak_time_ns", t->peak_time_ns},
        {"leaked_bytes", t->leaked_bytes},
        {"leaked_allocations", t->leaked_allocations},
        {"temporary_allocations", t->temporary_allocations},
        {"peak_rss_bytes", t->peak_rss_bytes},
        {"reserved_peak_bytes", t->reserved_peak_bytes},
        {"mapped_file_peak_bytes", t->mapped_file_peak_bytes},
        {"unknown_frees", t->unknown_frees},
        {"order_violations", t->order_violations},
        {"lost_events", t->lost_events},
        {"failed_allocations", t->failed_allocations},
    };

    printf("\"totals\":{");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", fields[i].name, fields[i].value);
    printf("}");
}

static void print_rows(const struct profile *profile)
{
    printf(",\n\"rows\":[");
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        printf("%s{\"stack\":%u,\"stream\":%u,\"costs\":[", i > 0 ? "," : "", row->stack,
               row->stream);
        for (unsigned view = 0; view < VIEW_WHOLE_COUNT; view++)
            printf("%s[%" PRIu64 ",%" PRIu64 "]", view > 0 ? "," : "", row->costs[view].bytes,
                   row->costs[view].allocations);
        printf("]}");
    }
    printf("]");
}

static void print_owners(const char *name, const struct profile_owner *owners, uint32_t count,
                         int has_rss)
{
    printf(",\n\"%s\":[", name);
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_owner *owner = &owners[i];

        printf("%s{\"allocations\":%" PRIu64 ",\"frees\":%" PRIu64 ",\"allocated_bytes\":%" PRIu64
               ",\"peak_bytes\":%" PRIu64,
               i > 0 ? "," : "", owner->allocations, owner->frees, owner->allocated_bytes,
               owner->peak_bytes);
        if (has_rss)
            printf(",\"peak_rss_bytes\":%" PRIu64, owner->peak_rss_bytes);
        printf("}");
    }
    printf("]");
}

static void print_allocators(const struct profile *profile)
{
    printf(",\n\"allocators\":[");
    for (uint32_t i = 0; i < profile->allocator_count; i++) {
        const struct profile_allocator *a = &profile->allocators[i];

        printf("%s{\"allocator\":%u,\"allocations\":%" PRIu64 ",\"allocated_bytes\":%" PRIu64
               ",\"peak_bytes\":%" PRIu64 "}",
               i > 0 ? "," : "", a->allocator, a->allocations, a->allocated_bytes, a->peak_bytes);
    }
    printf("]");
}

static void print_histograms(const struct profile *profile)
{
    printf(",\n\"sizes\":[");
    for (unsigned i = 0; i < PROFILE_SIZE_CLASSES; i++)
        printf("%s[%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "", profile->size_allocations[i],
               profile->size_bytes[i]);
    printf("],\n\"lifetimes\":[");
    for (unsigned i = 0; i < PROFILE_LIFETIMES; i++)
        printf("%s%" PRIu64, i > 0 ? "," : "", profile->lifetimes[i]);
    printf("]");
}

static void print_time(const struct profile *profile)
{
    printf(",\n\"samples\":[");
    for (uint32_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *s = &profile->samples[i];

        printf("%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
               i > 0 ? "," : "", s->time_ns, s->heap_bytes, s->heap_blocks, s->rss_bytes,
               s->failed_allocations, s->allocations);
    }
    printf("],\n\"peak_sample\":%u,\"end_ns\":%" PRIu64 ",\n\"intervals\":[", profile->peak_sample,
           profile->end_ns);
    for (uint64_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *v = &profile->intervals[i];

        printf("%s[%u,%u,%u,%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "", v->row, v->from_bucket,
               v->to_bucket, v->bytes, v->allocations);
    }
    printf("]");
}

static void print_text(const char *text)
{
    printf("\"");
    for (; *text != '\0'; text++)
        printf((unsigned char)*text < 32 || *text == '"' || *text == '\\' ? "\\u%04x" : "%c",
               (unsigned char)*text);
    printf("\"");
}

static void print_words(const struct profile *profile)
{
    const struct capture *capture = profile->capture;

    printf(",\n\"marks\":[");
    for (uint32_t i = 0; i < profile->mark_count; i++) {
        const struct profile_mark *m = &profile->marks[i];

        printf("%s[%" PRIu64 ",", i > 0 ? "," : "", m->time_ns);
        print_text(m->name);
        printf(",%u,%u]",
               m->process_index != UINT32_MAX ? capture->processes[m->process_index].number : 0,
               m->stream + 1);
    }
    printf("],\n\"phases\":[");
    for (uint32_t i = 0; i < profile->phase_count; i++) {
        const struct profile_phase *p = &profile->phases[i];

        printf("%s[%" PRIu64 ",%" PRIu64 ",", i > 0 ? "," : "", p->from_ns, p->to_ns);
        print_text(p->name);
        printf(",%" PRIu64 ",%u,%u,%s]", p->peak_bytes, capture->processes[p->process_index].number,
               p->stream + 1, p->has_ended ? "true" : "false");
    }
    printf("],\n\"pools\":[");
    for (uint32_t i = 0; i < profile->pool_count; i++) {
        const struct profile_pool *p = &profile->pools[i];

        printf("%s[%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
               i > 0 ? "," : "", p->allocator, p->allocations, p->frees, p->allocated_bytes,
               p->peak_bytes, p->leaked_bytes, p->leaked_allocations);
    }
    printf("]");
}

static void print_failures(const struct profile *profile)
{
    printf(",\n\"failures\":[");
    for (uint32_t i = 0; i < profile->failure_count; i++) {
        const struct profile_failure *f = &profile->failures[i];

        printf("%s[%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "",
               f->stack, f->stream, f->count, f->largest_bytes, f->first_ns, f->last_ns);
    }
    printf("]");
}

int main(int argc, char **argv)
{
    struct profile_options options = {
        .has_intervals = true,
        .process_number = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0,
        .tid = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0,
        .temporary_threshold = argc > 4 ? strtoull(argv[4], NULL, 10) : 1,
        .shows_pools = argc > 5,
    };
    struct error err;
    struct capture *capture = argc > 1 ? capture_open(argv[1], NULL, NULL, &err) : NULL;
    struct profile *profile;

    if (capture == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? err.text : "which capture?");
        return 3;
    }
    profile = profile_build(capture, &options);
    printf("{");
    print_totals(&profile->totals);
    printf(",\n\"standard_errors\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
           profile->standard_errors[0], profile->standard_errors[1], profile->standard_errors[2],
           profile->standard_errors[3]);
    print_rows(profile);
    print_allocators(profile);
    print_owners("processes", profile->processes, capture->process_count, 1);
    print_owners("threads", profile->threads, capture->thread_count, 0);
    print_histograms(profile);
    print_time(profile);
    print_words(profile);
    print_failures(profile);
    printf(",\n\"damage\":%s}\n",
           capture->damage.is_damaged || profile->damage.is_damaged ? "true" : "false");
    profile_destroy(profile);
    capture_close(capture);
    return 0;
}
