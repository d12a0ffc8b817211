/*
 * The page without its data, as bundle.py made it from index.html.in, app.css and src/: the report
 * writes the parts in order and its own text between them.
 */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

enum web_part {
    WEB_UP_TO_TITLE = 0,  /* then the title, as text */
    WEB_UP_TO_STATIC = 1, /* then what is seen without scripts, as markup */
    WEB_UP_TO_DATA = 2,   /* then the data, as script elements */
    WEB_UP_TO_END = 3,
    WEB_PART_COUNT = 4,
};

struct web_bytes {
    const unsigned char *bytes;
    size_t size_bytes;
};

/* By enum web_part. */
extern const struct web_bytes web_parts[WEB_PART_COUNT];

#endif
