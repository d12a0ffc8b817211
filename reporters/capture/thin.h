/*
 * Samples of memory that must not grow with time: two that follow each other become one.
 */
#ifndef CAPTURE_THIN_H
#define CAPTURE_THIN_H

#include "capture/capture.h"

/*
 * When a capture has many samples of resident memory, or of what counts against limits, make one of each
 * pair of one owner: at the earlier one's instant, with the bytes of the higher one. What was highest
 * stays, and comes no later. Context: tool.
 */
void capture_thin(struct capture *capture);

#endif
