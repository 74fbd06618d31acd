/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rc.c - the last error of each thread: its message and the path it took.
 *
 * Thread-local, so a rank thread never sees another rank's cause. In the sim world all ranks are coroutines of one
 * thread, and each has a record (rc_keep_in).
 */
#include "harness/base/rc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static _Thread_local struct rc_record own;
static _Thread_local struct rc_record *lent; /* NULL: own */

static struct rc_record *last(void)
{
    return lent ? lent : &own;
}

void rc_keep_in(struct rc_record *record)
{
    lent = record;
}

const char *rc_name(enum rc rc)
{
    switch (rc) {
#define X(id, val, text) \
    case RC_##id:        \
        return "RC_" #id;
        RC_LIST(X)
#undef X
    }
    return "RC_UNKNOWN";
}

const char *rc_text(enum rc rc)
{
    switch (rc) {
#define X(id, val, text) \
    case RC_##id:        \
        return text;
        RC_LIST(X)
#undef X
    }
    return "unknown code";
}

void rc_trace_(const char *file, int line, const char *call)
{
    struct rc_record *to = last();

    if (to->n_frames < (int)(sizeof to->frame / sizeof *to->frame))
        to->frame[to->n_frames++] = (struct rc_frame){ file, call, line };
}

enum rc rc_raise_(enum rc rc, const char *file, int line, const char *fmt, ...)
{
    char text[RC_MESSAGE_BYTES]; /* an argument may be rc_message() itself */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(last()->message, text, sizeof text);
    last()->n_frames = 0;
    rc_trace_(file, line, rc_name(rc));
    return rc;
}

enum rc rc_prefix(enum rc rc, const char *fmt, ...)
{
    char text[RC_MESSAGE_BYTES]; /* an argument may be rc_message() itself */
    size_t n_bytes;
    va_list ap;

    if (rc == RC_OK)
        return rc;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    n_bytes = strlen(text);
    snprintf(text + n_bytes, sizeof text - n_bytes, "%s", last()->message);
    memcpy(last()->message, text, sizeof text);
    return rc;
}

const char *rc_message(void)
{
    return last()->message;
}

void rc_clear(void)
{
    last()->message[0] = '\0';
    last()->n_frames = 0;
}

void rc_print_trace(FILE *to)
{
    const struct rc_record *from = last();

    for (int i = 0; i < from->n_frames; i++)
        fprintf(to, "  at %s:%d: %s\n", from->frame[i].file, from->frame[i].line, from->frame[i].call);
}
