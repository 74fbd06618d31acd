/* SPDX-License-Identifier: Apache-2.0 */
/* accept_world.c - see accept_world.h. */
#include "harness/verbs/accept_world.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"

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

static enum rc make(char path[ACCEPT_PATH_BYTES], const struct accept_opts *o)
{
    enum rc rc;

    if (!o->out[0]) {
        TRY(file_make_folder("results"));
        return folder_make_dated(path, ACCEPT_PATH_BYTES, "results", "accept");
    }
    if (strlen(o->out) >= ACCEPT_PATH_BYTES)
        FAIL(RC_INVAL, "--out %.64s...: is too long a name", o->out);
    snprintf(path, ACCEPT_PATH_BYTES, "%s", o->out);
    TRY(file_of_option(folder_make_empty(path), "out"));
out:
    return rc;
}

void accept_folder_make(struct accept_folder *out, const struct accept_opts *o)
{
    out->why[0] = '\0';
    out->refused = make(out->path, o);
    if (out->refused != RC_OK)
        snprintf(out->why, sizeof out->why, "%s", rc_message());
}

enum rc accept_folder_make_in(struct world *w, struct accept_folder *out, const struct accept_opts *o, bool *is_made)
{
    struct accept_folder all = { .refused = RC_OK };
    enum rc rc;

    if (w->rank == 0) {
        accept_folder_make(out, o);
        all = *out;
    }
    TRY(world_broadcast(w, &all, sizeof all));
    *is_made = all.refused == RC_OK;
    if (!(w->ops->module.caps & WORLD_SHARED_MEMORY)) /* else *out is rank 0's own */
        *out = all;
out:
    return rc;
}

enum rc accept_folder_check(const struct accept_folder *f, struct verb_call *call)
{
    if (f->refused == RC_OK)
        return RC_OK;
    call->stage = STAGE_INPUT;
    return rc_raise(f->refused, "%s", f->why);
}
