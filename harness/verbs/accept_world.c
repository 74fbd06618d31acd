/* SPDX-License-Identifier: Apache-2.0 */
/* accept_world.c - what gradmark accept requires of its world, and how its ranks start; see accept_world.h. */
#include "harness/verbs/accept_world.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/terminal.h"

struct world_opts accept_world_opts(const struct machine *m, const struct accept_opts *o)
{
    enum { WARN_PART = 2 };
    struct world_opts world = machine_world_opts(m);

    world.stall = (struct peer_opts){ .warn_ns = (uint64_t)(1e9 * o->stall_abort_s / WARN_PART),
                                      .abort_ns = (uint64_t)(1e9 * o->stall_abort_s) };
    world.on_loss = ON_LOSS_REPORT;
    world.has_tasks = true;
    world.failure_exit_code = COULD_NOT_TEST;
    return world;
}

enum rc accept_make_folder(char out[ACCEPT_PATH_BYTES], const struct accept_opts *o)
{
    enum rc rc;

    if (!o->out[0]) {
        TRY(file_make_folder("results"));
        return folder_make_dated(out, ACCEPT_PATH_BYTES, "results", "accept");
    }
    if (strlen(o->out) >= ACCEPT_PATH_BYTES)
        FAIL(RC_INVAL, "--out %.64s...: is too long a name", o->out);
    snprintf(out, ACCEPT_PATH_BYTES, "%s", o->out);
    TRY(file_of_option(folder_make_empty(out), "out"));
out:
    return rc;
}

/* Before the folder: whoever is refused leaves none behind. */
static enum rc check_all(struct world *w, struct accept_start *out, struct compute **compute, const struct machine *m,
                         const struct accept_terms *terms, bool *is_refused)
{
    enum rc rc, own;

    TRY(machine_choose_wait(m, w));
    own = accept_check(w, terms);
    if (own != RC_OK && own != RC_INVAL) /* of the world, and others may wait in it */
        return own;
    if (own == RC_OK)
        own = machine_open_compute(compute, m, w, m->compute);
    TRY(refusal_agree(w, &out->refusal, own, is_refused));
out:
    return rc;
}

/* The ranks of such a host measure each other. */
static void warn_of_few_cores(const struct world *w)
{
    const char *launcher = world_launcher().name;
    char remedy[96];

    if (w->rank != 0 || w->n_host_cores == 0 || w->n_host_ranks <= w->n_host_cores)
        return;
    if (launcher)
        (void)snprintf(remedy, sizeof remedy, "let %s start at most %d on this host", launcher, w->n_host_cores);
    else
        (void)snprintf(remedy, sizeof remedy, "use --workers %d", w->n_host_cores);
    terminal_note(stderr, "gradmark: warning: %d ranks share %d core%s, and slow each other down; %s", w->n_host_ranks,
                  w->n_host_cores, w->n_host_cores == 1 ? "" : "s", remedy);
}

enum rc accept_start_in(struct world *w, struct accept_start *out, struct compute **compute, const struct machine *m,
                        const struct accept_opts *o, const struct accept_terms *terms, bool *goes_on)
{
    const bool is_shared = w->ops->module.caps & WORLD_SHARED_MEMORY;
    char folder[ACCEPT_PATH_BYTES] = "";
    bool is_refused = false;
    enum rc rc;

    if (w->rank == 0 || !is_shared)
        out->is_begun = true;
    TRY(check_all(w, out, compute, m, terms, &is_refused));
    if (!is_refused)
        TRY(refusal_agree(w, &out->refusal, w->rank == 0 ? accept_make_folder(folder, o) : RC_OK, &is_refused));
    *goes_on = !is_refused;
    if (is_refused)
        goto out;
    warn_of_few_cores(w);
    TRY(world_broadcast(w, folder, sizeof folder));
    if (w->rank == 0 || !is_shared) /* else it is rank 0's own */
        memcpy(out->folder, folder, sizeof out->folder);
out:
    return rc;
}

enum rc accept_start_check(const struct accept_start *s, enum rc ran, struct verb_call *call)
{
    if (!s->is_begun && (ran == RC_INVAL || ran == RC_UNSUPPORTED)) { /* every rank has these, and got no further */
        call->stage = STAGE_INPUT;
        return ran;
    }
    return refusal_raise(&s->refusal, call);
}
