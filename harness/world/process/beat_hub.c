/* SPDX-License-Identifier: Apache-2.0 */
/* beat_hub.c - the middle of the star; the contract is in beat_hub.h. */
#include "harness/world/process/beat_hub.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/world/process/tcp_socket.h"

enum { N_STRANGERS = 16, NO_CELL = -1 };

#define STRANGER_NS UINT64_C(5000000000) /* within this time a connection says whose it is */

struct hub_link {
    struct beat_connection connection;
    int cell; /* NO_CELL: a stranger so far */
};

struct beat_hub {
    const struct beat_run *run;
    struct peer_seat *seat;
    int fd; /* listens */
    int n_links;
    struct hub_link *link;
    unsigned char *frame; /* to send: room for all ranks */
};

struct reading { /* for taken() */
    struct beat_hub *hub;
    struct hub_link *from;
};

/* Cells that another process than this one hears for. */
static int count_cells(const struct beat_run *run)
{
    int n_cells = 0;

    for (int r = 1; r < run->n_ranks; r++)
        n_cells += run->cell[r] == r;
    return n_cells;
}

enum rc beat_hub_open(struct beat_hub **out, const struct beat_run *run, struct peer_seat *seat,
                      struct beat_address *address)
{
    struct beat_hub *h = calloc(1, sizeof *h);
    enum rc rc;

    if (!h)
        return rc_raise(RC_NOMEM, "no memory for heartbeats");
    const int n_links = count_cells(run) + N_STRANGERS;
    *h = (struct beat_hub){ .run = run, .seat = seat, .fd = -1 };
    h->link = calloc((size_t)n_links, sizeof *h->link);
    h->frame = malloc(beat_frame_bytes(run->n_ranks));
    if (!h->link || !h->frame)
        FAIL(RC_NOMEM, "no memory for heartbeats of %d ranks", run->n_ranks);
    for (; h->n_links < n_links; h->n_links++)
        h->link[h->n_links] = (struct hub_link){ .connection.fd = -1, .cell = NO_CELL };
    TRY(beat_listen(&h->fd, address));
    *out = h;
    h = NULL;
out:
    beat_hub_close(&h);
    return rc;
}

static void end_link(struct hub_link *l)
{
    beat_connection_close(&l->connection);
    l->cell = NO_CELL;
}

/* A link for a new connection: an unused one, else that of the stranger who has been there for longest. */
static struct hub_link *find_link(struct beat_hub *h)
{
    struct hub_link *oldest = NULL;

    for (int i = 0; i < h->n_links; i++) {
        struct hub_link *l = &h->link[i];
        if (l->connection.fd < 0)
            return l;
        if (l->cell == NO_CELL && (!oldest || l->connection.heard_ns < oldest->connection.heard_ns))
            oldest = l;
    }
    assert(oldest); /* cells have one link each, and there are more */
    end_link(oldest);
    return oldest;
}

static void taken(void *arg, const struct beat_frame *f)
{
    const struct reading *reading = arg;
    struct beat_hub *h = reading->hub;
    struct peer_view v;

    for (int i = 0; reading->from->cell != f->from && i < h->n_links; i++)
        if (h->link[i].cell == f->from)
            end_link(&h->link[i]); /* another process of that cell has taken over, or it is a new connection */
    reading->from->cell = f->from;
    for (int i = 0; i < f->n_seats; i++) {
        const int rank = beat_seat(f, i, &v);
        peer_show(&h->seat[rank], &v, false);
    }
}

void beat_hub_receive(struct beat_hub *h, uint64_t now_ns)
{
    enum { MAX_NEW = 64 };

    for (int i = 0, fd; i < MAX_NEW && (fd = tcp_socket_accept(h->fd, NULL)) >= 0; i++)
        beat_connection_set(&find_link(h)->connection, fd, now_ns);
    for (int i = 0; i < h->n_links; i++) {
        struct hub_link *l = &h->link[i];
        struct reading reading = { h, l };
        if (l->connection.fd < 0)
            continue;
        if (!beat_connection_receive(&l->connection, h->run, false, now_ns, taken, &reading) ||
            (l->cell == NO_CELL && now_ns - l->connection.heard_ns > STRANGER_NS))
            end_link(l);
    }
}

void beat_hub_send(struct beat_hub *h)
{
    int n_seats = 0;

    for (int r = 0; r < h->run->n_ranks; r++) {
        const struct peer_view v = peer_view_of(&h->seat[r]);
        if (r == 0 || v.state != PEER_ALIVE || v.has_failed)
            beat_put_seat(h->frame + beat_frame_bytes(n_seats++), r, &v);
    }
    beat_put_header(h->frame, h->run, 0, n_seats);
    for (int i = 0; i < h->n_links; i++)
        if (h->link[i].cell != NO_CELL &&
            !beat_connection_send(&h->link[i].connection, h->frame, beat_frame_bytes(n_seats)))
            end_link(&h->link[i]);
}

int beat_hub_n_cells(const struct beat_hub *h)
{
    int n_cells = 0;

    for (int i = 0; i < h->n_links; i++)
        n_cells += h->link[i].cell != NO_CELL;
    return n_cells;
}

void beat_hub_close(struct beat_hub **hp)
{
    struct beat_hub *h = *hp;

    if (!h)
        return;
    for (int i = 0; h->link && i < h->n_links; i++)
        beat_connection_close(&h->link[i].connection);
    if (h->fd >= 0)
        (void)close(h->fd);
    free(h->link);
    free(h->frame);
    free(h);
    *hp = NULL;
}
