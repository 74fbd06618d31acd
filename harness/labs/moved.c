/* SPDX-License-Identifier: Apache-2.0 */
/* moved.c - a training in a child process, and every message between its ranks, read back; see moved.h. */
#include "harness/labs/moved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/csv.h"
#include "harness/base/file.h"
#include "harness/labs/array.h"
#include "harness/labs/training.h"

enum { N_COLUMNS = 11, PATH_BYTES = 4096 };

static const char header[] =
    "rank,step,direction,peer,tag,start_s,end_s,bytes_count,header_bytes_count,offset_bytes,adds\n";

static bool take_row(struct moved_message *m, char *line)
{
    char *field[N_COLUMNS], *end;
    double value[N_COLUMNS];

    line[strcspn(line, "\r\n")] = '\0';
    if (csv_cut(line, ',', field, N_COLUMNS) != N_COLUMNS)
        return false;
    for (int i = 0; i < N_COLUMNS; i++) {
        value[i] = i == 2 ? 0 : strtod(field[i], &end);
        if (i != 2 && (end == field[i] || *end != '\0'))
            return false;
    }
    *m = (struct moved_message){ .rank = (int)value[0],
                                 .peer = (int)value[3],
                                 .step = value[1],
                                 .is_received = strcmp(field[2], "receive") == 0,
                                 .adds = value[10] != 0,
                                 .tag = (uint32_t)value[4],
                                 .start_s = value[5],
                                 .end_s = value[6],
                                 .n_bytes = (uint64_t)value[7],
                                 .offset_bytes = value[9] };
    return m->is_received || strcmp(field[2], "send") == 0;
}

static enum rc add(struct moved *out, size_t *n_room, const struct moved_message *m)
{
    struct moved_message *message = array_grow(out->message, out->n, n_room, sizeof *message, "messages");

    if (!message)
        return RC_NOMEM;
    out->message = message;
    out->message[out->n++] = *m;
    return RC_OK;
}

enum rc moved_read(struct moved *out, const char *path)
{
    size_t n_room = 0, line_bytes = 0;
    struct moved_message m;
    FILE *from = NULL;
    char *line = NULL;
    enum rc rc;

    out->message = NULL;
    out->n = 0;
    TRY(file_open_regular(&from, path, "a file that --messages wrote"));
    if (getline(&line, &line_bytes, from) < 0 || strcmp(line, header) != 0)
        FAIL(RC_MISMATCH, "%s:1: is not the head of a table of messages, %.*s", path, (int)(sizeof header - 2), header);
    while (getline(&line, &line_bytes, from) >= 0) {
        if (!take_row(&m, line))
            FAIL(RC_MISMATCH, "%s:%zu: is no row of messages", path, out->n + 2);
        TRY(add(out, &n_room, &m));
    }
out:
    if (from)
        fclose(from);
    free(line);
    if (rc != RC_OK)
        moved_close(out);
    return rc;
}

void moved_close(struct moved *m)
{
    free(m->message);
    m->message = NULL;
    m->n = 0;
}

enum rc moved_run(struct moved *out, const struct lab_env *env, const char *name, const char *options)
{
    char path[PATH_BYTES], messages[PATH_BYTES + 16];
    enum rc rc;

    *out = (struct moved){ .message = NULL };
    snprintf(out->command, sizeof out->command, "gradmark train %.400s --messages %.40s.csv", options, name);
    snprintf(path, sizeof path, "%s/%s.csv", env->folder, name);
    snprintf(messages, sizeof messages, "--messages=%s", path);
    TRY(training_launch(env, name, options, (const char *[]){ messages, NULL }));
    TRY(moved_read(out, path));
out:
    return rc;
}

/* Of rank: bytes that it sent (or got) in steps. */
static uint64_t bytes_of(const struct moved *m, int rank, int n_workers, bool gets)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct moved_message *one = &m->message[i];
        const bool is_own = one->rank == rank && one->is_received == gets;
        const bool is_of_server = rank >= n_workers && one->peer == rank && one->is_received != gets;
        if (!isnan(one->step) && (is_own || is_of_server))
            n_bytes += one->n_bytes;
    }
    return n_bytes;
}

struct moved_bytes moved_sum(const struct moved *m, int n_workers, int n_ranks)
{
    struct moved_bytes sum = { .took_s = 0 };
    uint64_t all_bytes = 0;
    double first_s = INFINITY, last_s = 0;

    for (int r = 0; r < n_ranks; r++) {
        const uint64_t sent = bytes_of(m, r, n_workers, false), got = bytes_of(m, r, n_workers, true);
        const uint64_t more = sent > got ? sent : got;
        all_bytes += r < n_workers ? sent : 0;
        sum.busiest_bytes = more > sum.busiest_bytes ? more : sum.busiest_bytes;
    }
    for (size_t i = 0; i < m->n; i++)
        if (!isnan(m->message[i].step)) {
            first_s = fmin(first_s, m->message[i].start_s);
            last_s = fmax(last_s, m->message[i].end_s);
        }
    sum.worker_mean_bytes = all_bytes / (uint64_t)n_workers;
    sum.took_s = last_s > first_s ? last_s - first_s : 0;
    return sum;
}
