/* SPDX-License-Identifier: Apache-2.0 */
/* begun_hosts.c - under a launcher: the hosts of a campaign that is continued. See begun.h. */
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/begun.h"
#include "harness/world/child.h"

enum { HOST_BYTES = 64 };

/* The first of "|one|other|" (NULL: of none) that is not in name[n]; "": all are. */
static void find_missing(char out[HOST_BYTES], const char *hosts, const char (*name)[HOST_BYTES], int n)
{
    const char *rest = hosts ? hosts + strspn(hosts, "|") : "";

    out[0] = '\0';
    for (size_t n_bytes; (n_bytes = strcspn(rest, "|")) > 0; rest += n_bytes + 1) {
        bool is_there = false;
        for (int r = 0; r < n && !is_there; r++)
            is_there = strlen(name[r]) == n_bytes && strncmp(name[r], rest, n_bytes) == 0;
        if (is_there)
            continue;
        snprintf(out, HOST_BYTES, "%.*s", (int)n_bytes, rest);
        return;
    }
}

enum rc sweep_check_hosts(struct sweep *s, struct world *w)
{
    char own[HOST_BYTES] = "", missing[HOST_BYTES] = "", (*all)[HOST_BYTES] = calloc((size_t)w->n_ranks, sizeof *all);
    const size_t n_used = strlen(s->despite);
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    child_host_name(own, sizeof own);
    TRY(world_allgather(w, own, all, sizeof own));
    if (w->rank == 0)
        find_missing(missing, s->campaign.hosts, (const char(*)[HOST_BYTES])all, w->n_ranks);
    TRY(world_broadcast(w, missing, sizeof missing));
    if (missing[0] && !s->goes_on_anyway)
        FAIL(RC_INVAL,
             "--continue %s: launches were made on host %s, which is none of this job: those of both would not be "
             "alike; "
             "--continue-anyway continues, and the results name it",
             s->campaign.dir, missing);
    if (missing[0] && w->rank == 0)
        snprintf(s->despite + n_used, sizeof s->despite - n_used, "%shost %s is not there any more",
                 n_used > 0 ? "; " : "", missing);
out:
    free(all);
    return rc;
}
