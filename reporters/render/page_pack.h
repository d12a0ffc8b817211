/*
 * How the page carries data and text: columns of varints, packed by LZ4, as base64; text that no
 * content can break out of.
 *
 * Runs in the tools. What holds: whatever a capture holds, the page is valid UTF-8, and nothing in
 * it that came from the capture is markup. A data section stands in the page as
 *   <script type="application/octet-stream" id="data-NAME" data-bytes="N">BASE64</script>
 * where N is the size before packing; what is packed is one LZ4 block.
 */
#ifndef RENDER_PAGE_PACK_H
#define RENDER_PAGE_PACK_H

#include "base/error.h"
#include "base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes that grow. All zero is empty. */
struct page_bytes {
    uint8_t *bytes;
    size_t size_bytes, capacity_bytes;
};

/* Append; context: tool. */
void page_bytes_add(struct page_bytes *to, const void *bytes, size_t size_bytes);
void page_bytes_add_varint(struct page_bytes *to, uint64_t value);
void page_bytes_add_folded(struct page_bytes *to, int64_t value);

/* Give them back; empty then. Context: tool. */
void page_bytes_finish(struct page_bytes *bytes);

/* Texts, each once, numbered from 0 in the order of their coming. All zero is empty. */
struct page_strings {
    struct page_bytes text;
    struct page_string {
        size_t offset, length_bytes;
    } * strings;
    size_t capacity;
    uint32_t count;
    struct hash_index index;
};

/* Return the number of a text; what is not UTF-8 in it becomes U+FFFD. Context: tool. */
uint32_t page_strings_intern(struct page_strings *strings, const char *text);

/* Append the texts: all lengths, then all bytes. Context: tool. */
void page_strings_pack(const struct page_strings *strings, struct page_bytes *to);

/* Give them back; empty then. Context: tool. */
void page_strings_finish(struct page_strings *strings);

/* Copy a text with U+FFFD for what is not UTF-8 in it. Returns memory to be freed. Context: tool. */
char *page_clean_text(const char *text);

/* Write a text with &, <, > and quotes as HTML has them. Context: tool. */
void page_write_text(FILE *out, const char *text);

/* Return about how many bytes a data section takes in the page, rather more. Context: tool. */
size_t page_section_bytes(const struct page_bytes *content);

/*
 * Write a data section.
 * name: letters. Returns false with err when it cannot be packed. Context: tool.
 */
bool page_write_section(FILE *out, const char *name, const struct page_bytes *content,
                        struct error *err);

#endif
