/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - what --messages writes: see messages.h. */
#include "harness/train/messages.h"

#include "harness/base/file.h"
#include "harness/net/message_log.h"

static uint64_t n_of_all(const struct train_result *r)
{
    uint64_t n = 0;

    for (int i = 0; i < r->n_ranks; i++)
        n += r->n_messages[i];
    return n;
}

static uint64_t first_start_ns(const struct train_result *r)
{
    const uint64_t n = n_of_all(r);
    uint64_t first = UINT64_MAX;

    for (uint64_t i = 0; i < n; i++)
        first = r->message[i].start_ns < first ? r->message[i].start_ns : first;
    return first;
}

/* A number, or nan where it is `none`. */
static void write_number(FILE *to, uint64_t value, uint64_t none)
{
    if (value == none)
        fputs("nan", to);
    else
        fprintf(to, "%llu", (unsigned long long)value);
}

static void write_row(FILE *to, int rank, const struct logged_message *m, uint64_t first_ns)
{
    fprintf(to, "%d,", rank);
    write_number(to, m->step, MESSAGE_NO_STEP);
    fprintf(to, ",%s,%d,%u,%.9f,%.9f,%llu,%llu,", m->is_received ? "receive" : "send", m->peer, m->tag,
            1e-9 * (double)(m->start_ns - first_ns), 1e-9 * (double)(m->end_ns - first_ns),
            (unsigned long long)m->n_bytes, (unsigned long long)m->n_head_bytes);
    write_number(to, m->offset_bytes, MESSAGE_ELSEWHERE);
    fprintf(to, ",%u\n", m->is_added);
}

enum rc messages_write(const char *path, const struct train_result *result)
{
    const uint64_t first_ns = first_start_ns(result);
    const struct logged_message *m = result->message;
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("rank,step,direction,peer,tag,start_s,end_s,bytes_count,header_bytes_count,offset_bytes,adds\n", file.stream);
    for (int r = 0; r < result->n_ranks; r++)
        for (uint64_t i = 0; i < result->n_messages[r]; i++)
            write_row(file.stream, result->rank[r].number, m++, first_ns);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}
