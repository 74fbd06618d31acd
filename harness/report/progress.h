/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - the progress of a long command. On a terminal one line is redrawn in place. Elsewhere
 * (a file, a pipe, CI) a plain line is printed at most every 10 s, at least every minute with
 * progress_tick(), and one at the end.
 */
#ifndef HARNESS_REPORT_PROGRESS_H
#define HARNESS_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct progress {
    FILE *to;
    bool is_terminal;
    bool hides_number; /* print the completed part alone, as pieces mean nothing to a user; the caller sets it */
    size_t n_done, n_total;
    double done_ratio; /* of the time, from progress_weigh(); NaN: use the number of pieces */
    uint64_t started_ns, printed_ns;
};

/* to: usually stderr; now_ns: a monotonic clock read by the caller. */
void progress_init(struct progress *p, FILE *to, size_t n_total, uint64_t now_ns);
/* n_done of n_total are done; what: the piece of work now under way. */
void progress_update(struct progress *p, size_t n_done, const char *what, uint64_t now_ns);
/* Nothing new is done: prints the time again, after a minute without a line (a second on a terminal). */
void progress_tick(struct progress *p, uint64_t now_ns);
/* For pieces of different length: from now on the time left is estimated from done_ratio, the completed part of all
 * work, 0 to 1. */
void progress_weigh(struct progress *p, double done_ratio);
/* Print a separate line, printf-style, above the redrawn line; the line feed is added. */
void progress_say(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Erase the redrawn line before text goes to the same terminal; the next update draws it again. Elsewhere a no-op. */
void progress_hide(struct progress *p);
/* Erase the line (terminal) or print a last line (elsewhere), if anything is done. */
void progress_fini(struct progress *p, uint64_t now_ns);

#endif
