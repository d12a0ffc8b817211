/*
 * --on-exceed SIZE=ACTION, from its text to what the collector is told.
 */
#ifndef CLI_EXCEED_H
#define CLI_EXCEED_H

#include "base/error.h"
#include "collect/collect.h"
#include "options.h"

#include <stdbool.h>

/*
 * Understand all that were given.
 * ret_rules: room for COLLECT_MOST_RULES; commands are the values' texts.
 * Returns false with err, which names the accepted form. Context: tool.
 */
bool exceed_parse(const struct option_values *values, struct collect_rule *ret_rules,
                  uint32_t *ret_count, struct error *err);

#endif
