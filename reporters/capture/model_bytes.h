/*
 * The sections in which a capture stores its model: their bytes, in which this folder knows no meaning.
 */
#ifndef CAPTURE_MODEL_BYTES_H
#define CAPTURE_MODEL_BYTES_H

#include "capture/capture.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A model as it was stored. */
struct capture_model_bytes {
    uint8_t *bytes; /* free() */
    size_t size_bytes;
};

/*
 * Unpack the model of a capture that is clean and not damaged, or of an aggregated one.
 * ret_fault: a few words, static, when there is one that does not unpack; else NULL.
 * Returns false when there is none to be had. Context: tool.
 */
bool capture_model_unpack(const struct capture *capture, struct capture_model_bytes *ret_model,
                          const char **ret_fault);

/* Say that the stored model is wrong, and that the events are read instead, if there are any. */
void capture_model_refuse(const struct capture *capture, const char *fault,
                          struct capture_damage *ret_damage);

/*
 * Store a model: the last thing to be written before the capture is closed.
 * Returns false when a write has failed; err says why. Context: tool.
 */
bool capture_model_write(struct capture_writer *writer, const uint8_t *bytes, size_t size_bytes,
                         struct error *err);

#endif
