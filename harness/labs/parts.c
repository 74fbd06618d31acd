/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - the progress of a lab; see parts.h. */
#include "harness/labs/parts.h"

#include "harness/labs/lab.h"
#include "harness/world/wait.h"

enum { WHAT_BYTES = 128 };

void parts_open(struct lab_parts *p, const char *lab, FILE *to)
{
    *p = (struct lab_parts){ .lab = lab };
    progress_init(&p->shown, to, 0, wait_clock_ns());
}

void parts_expect(const struct lab_env *env, int n_trainings, int n_pictures)
{
    env->parts->n_expected = n_trainings + n_pictures;
    env->parts->shown.n_total = (size_t)env->parts->n_expected;
}

void parts_begin(const struct lab_env *env, const char *what)
{
    struct lab_parts *p = env->parts;
    char text[WHAT_BYTES];

    snprintf(text, sizeof text, "%s: %s", p->lab, what);
    progress_update(&p->shown, (size_t)p->n_begun, text, wait_clock_ns());
    p->n_begun++;
}

FILE *parts_text(const struct lab_env *env)
{
    progress_hide(&env->parts->shown);
    return env->to;
}

enum rc parts_close(struct lab_parts *p)
{
    p->shown.n_done = (size_t)p->n_begun;
    progress_fini(&p->shown, wait_clock_ns());
    if (p->n_begun != p->n_expected)
        return rc_raise(RC_BUG, "lab %s: began %d parts of %d", p->lab, p->n_begun, p->n_expected);
    return RC_OK;
}

void parts_abandon(struct lab_parts *p)
{
    if (p->shown.is_terminal)
        progress_fini(&p->shown, wait_clock_ns());
}
