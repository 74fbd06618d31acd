/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - a line redrawn in place, or a plain line now and then. Whether `to` is a terminal is
 * asked once; a terminal that cannot move its cursor (TERM=dumb) is none.
 */
#include "harness/report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/terminal.h"

#define NS_PER_S UINT64_C(1000000000)

enum { BAR_COLUMNS = 24, PLAIN_INTERVAL_S = 10, TICK_INTERVAL_S = 60, LINE_BYTES = 256, DEFAULT_COLUMNS = 80 };

void progress_init(struct progress *p, FILE *to, size_t n_total, uint64_t now_ns)
{
    const char *term = getenv("TERM");
    int fd = fileno(to); /* -1: a stream in memory */

    *p = (struct progress){ .to = to,
                            .n_total = n_total,
                            .done_ratio = NAN,
                            .is_terminal = fd >= 0 && isatty(fd) && term && strcmp(term, "dumb") != 0,
                            .started_ns = now_ns,
                            .printed_ns = now_ns };
}

/* "1:05", "1:01:05". */
static void format_duration(char *out, size_t n_bytes, uint64_t ns)
{
    unsigned long long s = (ns + NS_PER_S / 2) / NS_PER_S;

    if (s < 3600)
        snprintf(out, n_bytes, "%llu:%02llu", s / 60, s % 60);
    else
        snprintf(out, n_bytes, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
}

/* "12/48, 25 %, 0:12 so far, about 0:36 to go"; no time is estimated before the first piece is done, nor at the
 * end, which may come before the last piece. 100 % means that all is done. */
static void format_state(char *out, size_t n_bytes, const struct progress *p, uint64_t now_ns, bool is_last)
{
    const uint64_t elapsed_ns = now_ns - p->started_ns;
    const size_t n_total = p->n_total ? p->n_total : 1;
    const double of_number = p->n_total ? (double)p->n_done / (double)n_total : 1;
    const double done_ratio = isnan(p->done_ratio) ? of_number : p->done_ratio;
    char number[64] = "", elapsed[32], left[64] = "";
    const char *when = is_last ? p->n_done < p->n_total ? "ended after " : "took " : "";

    format_duration(elapsed, sizeof elapsed, elapsed_ns);
    if (!is_last && p->n_done > 0 && p->n_done < p->n_total && done_ratio > 0) {
        char duration[32];

        format_duration(duration, sizeof duration, (uint64_t)((double)elapsed_ns * (1 / done_ratio - 1)));
        snprintf(left, sizeof left, ", about %s to go", duration);
    }
    if (!p->hides_number)
        snprintf(number, sizeof number, "%zu/%zu, ", p->n_done, p->n_total);
    snprintf(out, n_bytes, "%s%.0f %%, %s%s%s%s", number, floor(100 * done_ratio), when, elapsed,
             is_last ? "" : " so far", left);
}

/* Cut to n_columns bytes, not inside a UTF-8 sequence: a line that wraps could not be redrawn. */
static void cut(char *line, size_t n_columns)
{
    if (strlen(line) <= n_columns)
        return;
    while (n_columns > 0 && ((unsigned char)line[n_columns] & 0xc0) == 0x80)
        n_columns--;
    line[n_columns] = '\0';
}

static void redraw(const struct progress *p, const char *state, const char *what)
{
    const size_t n_total = p->n_total ? p->n_total : 1;
    const size_t n_filled = (p->n_done < n_total ? p->n_done : n_total) * BAR_COLUMNS / n_total;
    const int n_columns = terminal_columns(p->to);
    char bar[BAR_COLUMNS + 1], line[LINE_BYTES];

    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', n_filled);
    bar[BAR_COLUMNS] = '\0';
    snprintf(line, sizeof line, "[%s] %s%s%s", bar, state, *what ? ": " : "", what);
    cut(line,
        (size_t)(n_columns > 0 ? n_columns : DEFAULT_COLUMNS) - 1); /* the last column would wrap on some terminals */
    fprintf(p->to, "\r%s\033[K", line);
    fflush(p->to);
}

void progress_weigh(struct progress *p, double done_ratio)
{
    p->done_ratio = done_ratio;
}

void progress_update(struct progress *p, size_t n_done, const char *what, uint64_t now_ns)
{
    char state[LINE_BYTES];

    p->n_done = n_done;
    if (!p->is_terminal && (n_done >= p->n_total || now_ns - p->printed_ns < PLAIN_INTERVAL_S * NS_PER_S))
        return; /* of the end progress_fini() tells */
    p->printed_ns = now_ns;
    format_state(state, sizeof state, p, now_ns, false);
    if (p->is_terminal) {
        redraw(p, state, what ? what : "");
        return;
    }
    fprintf(p->to, "%s%s%s\n", state, what && *what ? ": " : "", what ? what : "");
    fflush(p->to);
}

void progress_tick(struct progress *p, uint64_t now_ns)
{
    const uint64_t interval_s = p->is_terminal ? 1 : TICK_INTERVAL_S;

    if (now_ns >= p->printed_ns + interval_s * NS_PER_S)
        progress_update(p, p->n_done, NULL, now_ns);
}

void progress_hide(struct progress *p)
{
    if (!p->is_terminal)
        return;
    fputs("\r\033[K", p->to);
    fflush(p->to);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
    va_list ap;

    progress_hide(p);
    va_start(ap, fmt);
    terminal_vnote(p->to, fmt, ap);
    va_end(ap);
    fflush(p->to);
}

void progress_fini(struct progress *p, uint64_t now_ns)
{
    char state[LINE_BYTES];

    progress_hide(p);
    if (p->is_terminal || (p->n_done == 0 && p->n_total > 0))
        return; /* bad input has an error, and no progress */
    format_state(state, sizeof state, p, now_ns, true);
    fprintf(p->to, "%s\n", state);
    fflush(p->to);
}
