/* SPDX-License-Identifier: Apache-2.0 */
/* xfer.c - header and body of a message, together and apart; the contract is in xfer.h. */
#include "harness/net/xfer.h"

#include <string.h>

struct parts { /* a message as it came */
    const unsigned char *head, *body;
    size_t n_head_bytes;
};

static void copy_if_any(void *out, const void *in, size_t n_bytes)
{
    if (n_bytes > 0)
        memcpy(out, in, n_bytes);
}

/* out[n_bytes] := the bytes from offset_bytes on. */
static void parts_read(void *out, const struct parts *p, size_t offset_bytes, size_t n_bytes)
{
    const size_t n_left = offset_bytes < p->n_head_bytes ? p->n_head_bytes - offset_bytes : 0;
    const size_t n_first = n_left < n_bytes ? n_left : n_bytes;

    if (n_first > 0)
        memcpy(out, p->head + offset_bytes, n_first);
    if (n_bytes > n_first)
        memcpy((unsigned char *)out + n_first, p->body + (offset_bytes + n_first - p->n_head_bytes), n_bytes - n_first);
}

/* sum = base + the floats from offset_bytes on; base may be sum. */
static void parts_add(float *sum, const float *base, const struct parts *p, size_t offset_bytes, size_t n_elems)
{
    float value;

    if (offset_bytes >= p->n_head_bytes) { /* all in the body, as between any two that divide alike */
        const unsigned char *from = p->body + (offset_bytes - p->n_head_bytes);
#pragma GCC ivdep
        for (size_t i = 0; i < n_elems; i++) {
            memcpy(&value, from + i * sizeof value, sizeof value);
            sum[i] = base[i] + value;
        }
    } else {
        for (size_t i = 0; i < n_elems; i++) {
            parts_read(&value, p, offset_bytes + i * sizeof value, sizeof value);
            sum[i] = base[i] + value;
        }
    }
}

/* What is added to the floats that become x->ptr. */
static const float *addend_of(const struct xfer *x)
{
    return x->addend ? x->addend : x->ptr;
}

void xfer_copy_out(void *out, const struct xfer *x)
{
    copy_if_any(out, x->head, x->n_head_bytes);
    copy_if_any((unsigned char *)out + x->n_head_bytes, x->ptr, x->n_bytes);
}

void xfer_set_received(struct xfer *x, size_t n_bytes)
{
    if (n_bytes < x->n_head_bytes)
        x->n_head_bytes = n_bytes;
    x->n_bytes = n_bytes - x->n_head_bytes;
    x->n_hollow_bytes = 0;
}

void xfer_deliver(struct xfer *x, const void *head, size_t n_head_bytes, const void *body, size_t n_bytes)
{
    const struct parts parts = { head, body, n_head_bytes };

    xfer_set_received(x, n_head_bytes + n_bytes);
    parts_read(x->head, &parts, 0, x->n_head_bytes);
    if (x->add)
        parts_add(x->ptr, addend_of(x), &parts, x->n_head_bytes, x->n_bytes / sizeof(float));
    else
        parts_read(x->ptr, &parts, x->n_head_bytes, x->n_bytes);
}

void xfer_deliver_piece(struct xfer *x, size_t offset_bytes, const void *bytes, size_t n_bytes)
{
    const size_t n_left = offset_bytes < x->n_head_bytes ? x->n_head_bytes - offset_bytes : 0;
    const size_t n_first = n_left < n_bytes ? n_left : n_bytes, n_rest = n_bytes - n_first;
    const struct parts rest = { .body = (const unsigned char *)bytes + n_first };

    if (n_first > 0)
        memcpy((unsigned char *)x->head + offset_bytes, bytes, n_first);
    if (n_rest == 0)
        return;
    const size_t at_bytes = offset_bytes + n_first - x->n_head_bytes, at = at_bytes / sizeof(float);
    if (x->add)
        parts_add((float *)x->ptr + at, addend_of(x) + at, &rest, 0, n_rest / sizeof(float));
    else
        memcpy((unsigned char *)x->ptr + at_bytes, rest.body, n_rest);
}
