/* SPDX-License-Identifier: Apache-2.0 */
/* beat_frame.c - seats as bytes; the layout is in beat_frame.h. */
#include "harness/world/process/beat_frame.h"

#include <string.h>

#include "harness/base/bytes.h"

enum { MAX_SIGNAL = 64 };

static const unsigned char magic[4] = { 'G', 'M', 'H', 'B' };

void beat_put_header(unsigned char *out, const struct beat_run *run, int from, int n_seats)
{
    memcpy(out, magic, sizeof magic);
    bytes_put(out + 4, BEAT_VERSION, 4);
    memcpy(out + 8, run->token, BEAT_TOKEN_BYTES);
    bytes_put(out + 24, (uint64_t)run->n_ranks, 4);
    bytes_put(out + 28, (uint64_t)from, 4);
    bytes_put(out + 32, (uint64_t)n_seats, 4);
}

void beat_put_seat(unsigned char *out, int rank, const struct peer_view *v)
{
    bytes_put(out, (uint64_t)rank, 4);
    bytes_put(out + 4, (uint64_t)v->state, 1);
    bytes_put(out + 5, (uint64_t)v->duty.phase, 1);
    bytes_put(out + 6, v->has_failed, 1);
    bytes_put(out + 7, (uint64_t)v->stop_signal, 1);
    bytes_put(out + 8, v->silent_ms, 4);
    bytes_put(out + 12, (uint32_t)v->duty.bucket, 4);
    bytes_put(out + 16, v->n_ticks, 8);
    bytes_put(out + 24, (uint64_t)v->duty.step, 8);
    bytes_put(out + 32, (uint64_t)v->n_begun, 8);
    bytes_put(out + 40, (uint64_t)v->n_last, 8);
}

int beat_seat(const struct beat_frame *f, int i, struct peer_view *out)
{
    const unsigned char *in = f->seats + (size_t)i * BEAT_SEAT_BYTES;

    *out = (struct peer_view){ .state = (enum peer_state)in[4],
                               .duty = { .phase = (enum peer_phase)in[5],
                                         .step = (int64_t)bytes_get(in + 24, 8),
                                         .bucket = (int32_t)bytes_get(in + 12, 4) },
                               .has_failed = in[6] != 0,
                               .stop_signal = in[7],
                               .n_begun = (int64_t)bytes_get(in + 32, 8),
                               .n_last = (int64_t)bytes_get(in + 40, 8),
                               .silent_ms = (uint32_t)bytes_get(in + 8, 4),
                               .n_ticks = bytes_get(in + 16, 8) };
    return (int)bytes_get(in, 4);
}

/* Does the frame have the token of this run? The time of the comparison does not depend on where the tokens differ. */
static bool is_of_run(const struct beat_run *run, const unsigned char *in)
{
    unsigned char differs = 0;

    for (int i = 0; i < BEAT_TOKEN_BYTES; i++)
        differs |= (unsigned char)(in[8 + i] ^ run->token[i]);
    return differs == 0;
}

static enum rc read_header(struct beat_frame *out, const struct beat_run *run, bool from_hub, const unsigned char *in)
{
    const uint64_t n_ranks = (uint64_t)run->n_ranks;
    const uint64_t from = bytes_get(in + 28, 4), n_seats = bytes_get(in + 32, 4);

    if (memcmp(in, magic, sizeof magic) != 0 || bytes_get(in + 4, 4) != BEAT_VERSION)
        return rc_raise(RC_MISMATCH, "a heartbeat of another version");
    if (!is_of_run(run, in) || bytes_get(in + 24, 4) != n_ranks)
        return rc_raise(RC_MISMATCH, "a heartbeat of another run");
    if (from >= n_ranks || run->cell[from] != (int)from || (from == 0) != from_hub)
        return rc_raise(RC_MISMATCH, "a heartbeat from rank %u, which sends none", (unsigned)from);
    if (n_seats > n_ranks)
        return rc_raise(RC_MISMATCH, "a heartbeat of %u ranks, but the run has %d", (unsigned)n_seats, run->n_ranks);
    *out = (struct beat_frame){ .from = (int)from, .n_seats = (int)n_seats, .seats = in + BEAT_HEADER_BYTES };
    return RC_OK;
}

/* Is the seat at `in` valid: is every field in its range, and may this sender report this rank? previous: the rank of
 * the seat before it in the frame, -1 for the first one; ranks grow. */
static bool seat_is_valid(const struct beat_run *run, const struct beat_frame *f, bool from_hub,
                          const unsigned char *in, int64_t previous)
{
    const uint64_t rank = bytes_get(in, 4);

    if (rank >= (uint64_t)run->n_ranks || (int64_t)rank <= previous)
        return false;
    return (from_hub || run->cell[rank] == f->from) && in[4] <= PEER_LEFT && in[5] <= PHASE_END && in[6] <= 1 &&
           in[7] <= MAX_SIGNAL && bytes_get(in + 32, 8) <= INT64_MAX && bytes_get(in + 40, 8) <= INT64_MAX;
}

enum rc beat_read(struct beat_frame *out, const struct beat_run *run, bool from_hub, const unsigned char *bytes,
                  size_t n_bytes)
{
    struct beat_frame f;
    int64_t previous = -1;
    enum rc rc = RC_OK;

    if (n_bytes < BEAT_HEADER_BYTES)
        return rc_raise(RC_MISMATCH, "a heartbeat of %zu bytes", n_bytes);
    TRY(read_header(&f, run, from_hub, bytes));
    if (n_bytes != beat_frame_bytes(f.n_seats))
        FAIL(RC_MISMATCH, "a heartbeat of rank %d, of %zu bytes for %d ranks", f.from, n_bytes, f.n_seats);
    for (int i = 0; i < f.n_seats; i++) {
        const unsigned char *in = f.seats + (size_t)i * BEAT_SEAT_BYTES;
        if (!seat_is_valid(run, &f, from_hub, in, previous))
            FAIL(RC_MISMATCH, "a heartbeat of rank %d with an invalid seat %d", f.from, i);
        previous = (int64_t)bytes_get(in, 4);
    }
    *out = f;
out:
    return rc;
}
