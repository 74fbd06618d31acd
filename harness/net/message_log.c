/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_log.c - every message that a transport has moved: its peer, times, and place in an array; see
 * message_log.h.
 */
#include "harness/net/message_log.h"

#include <stdlib.h>

enum { FIRST_ROOM = 256 };

enum rc message_log_open(struct message_log **out)
{
    struct message_log *log = calloc(1, sizeof *log);

    if (!log)
        return rc_raise(RC_NOMEM, "no memory for a log of messages");
    log->step = MESSAGE_NO_STEP;
    *out = log;
    return RC_OK;
}

static bool make_room(struct message_log *log)
{
    const size_t n_wanted = log->n_room > 0 ? 2 * log->n_room : FIRST_ROOM;
    struct logged_message *larger;

    if (log->n < log->n_room)
        return true;
    larger = realloc(log->message, n_wanted * sizeof *larger);
    if (!larger)
        return false;
    log->message = larger;
    log->n_room = n_wanted;
    return true;
}

static uint64_t offset_bytes(const struct message_log *log, const void *ptr)
{
    const uintptr_t from = (uintptr_t)log->array, at = (uintptr_t)ptr;

    return log->array && ptr && at >= from && at < from + log->array_bytes ? at - from : MESSAGE_ELSEWHERE;
}

void message_log_add(struct message_log *log, const struct logged_message *m, const void *ptr)
{
    if (log->is_out_of_room || !make_room(log)) {
        log->is_out_of_room = true;
        return;
    }
    log->message[log->n] = *m;
    log->message[log->n].offset_bytes = offset_bytes(log, ptr);
    log->message[log->n].step = log->step;
    log->n++;
}

void message_log_close(struct message_log **log)
{
    if (!log || !*log)
        return;
    free((*log)->message);
    free(*log);
    *log = NULL;
}
