/* SPDX-License-Identifier: Apache-2.0 */
/* rank_move.c - see rank_move.h. */
#include "harness/train/rank_move.h"

struct xfer rank_message(bool is_hollow, const float *x, size_t n_elems, int peer, uint32_t tag)
{
    const size_t n_bytes = n_elems * sizeof *x;

    return (struct xfer){ .ptr = is_hollow ? NULL : (float *)(uintptr_t)x,
                          .n_bytes = is_hollow ? 0 : n_bytes,
                          .n_hollow_bytes = is_hollow ? n_bytes : 0,
                          .peer = peer,
                          .tag = tag };
}

enum rc rank_move(const struct rank_move *how, float *x, size_t n)
{
    struct transport *t = how->transport;
    float asked = 0;
    size_t done = 0;
    enum rc rc = RC_OK;

    while (done < n) {
        const size_t left = n - done, n_elems = left < how->most_elems ? left : how->most_elems;
        struct xfer ask = rank_message(how->is_hollow, &asked, 1, how->peer, how->tag + 1);
        struct xfer m = rank_message(how->is_hollow, x + done, n_elems, how->peer, how->tag);
        TRY(how->sends ? transport_recv(t, &ask) : transport_recv(t, &m));
        if (!how->sends)
            TRY(transport_send(t, &ask));
        TRY(transport_wait(t, &ask, how->timeout_ms));
        if (how->sends)
            TRY(transport_send(t, &m));
        TRY(transport_wait(t, &m, how->timeout_ms));
        done += n_elems;
    }
out:
    return rc;
}
