/* SPDX-License-Identifier: Apache-2.0 */
/*
 * omission.c - --omit LIST, for lessons: a run omits steps of the recipe for distributed training, to show the
 * purpose of each; see omission.h.
 */
#include "harness/train/omission.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/train/train.h"

static const char *const name_of[] = { "broadcast", "shard", "average", "scaling", "rank0-save", NULL };

const char *omission_name(int i)
{
    return name_of[i];
}

enum rc omission_parse(unsigned *out, const char *list, const char *option)
{
    const char *rest = list;
    char word[32];

    *out = 0;
    while (list[0] && text_next(&rest, word, sizeof word)) {
        int i = 0;
        while (name_of[i] && strcmp(word, name_of[i]) != 0)
            i++;
        if (!name_of[i]) {
            const char *near = text_nearest(word, name_of);
            return rc_raise(RC_INVAL,
                            "--%s %.80s: '%s' is not a step that can be left out%s%s%s; the steps are broadcast, "
                            "shard, average, scaling and rank0-save",
                            option, list, word, near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
        }
        *out |= 1u << i;
    }
    return RC_OK;
}

void omission_text(char *out, size_t n_bytes, unsigned set)
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; name_of[i] && n < n_bytes; i++)
        if (set & (1u << i))
            n += (size_t)snprintf(out + n, n_bytes - n, "%s%s", n > 0 ? ", " : "", name_of[i]);
}

void omission_mark(char *out, size_t n_bytes, const struct train_job *job)
{
    char omitted[OMISSIONS_BYTES];

    omission_text(omitted, sizeof omitted, job->omitted);
    out[0] = '\0';
    if (job->omitted)
        snprintf(out, n_bytes, "LEFT OUT: %s; the figures do not measure mode %s", omitted, job->opts.mode);
}

/* Of this job, whatever is left out. */
static const char *why_none(const struct train_job *job)
{
    if (job->n_workers == 1)
        return "with one worker, as these steps are between workers; --workers 2";
    if (job->profile || !job->compute->touches_memory)
        return "with a run that computes nothing; needs a model that learns, and --compute cpu";
    if (job->opts.forward_only)
        return "with --forward-only, which learns nothing";
    if (job->opts.elastic)
        return "with --elastic, where a worker takes over samples of another one";
    if (job->on_loss == ON_LOSS_REPORT)
        return "with --on-loss report, which sets workers back to their last common step";
    return NULL;
}

/* Why no run can go on with it from a checkpoint; NULL: one can. */
static const char *why_no_resume(const struct train_job *job, enum omission o)
{
    switch (o) {
    case OMIT_BROADCAST:
    case OMIT_AVERAGE:
        return "every worker has its own parameters, and a checkpoint has those of one worker; leave out --resume and "
               "--restarts";
    case OMIT_RANK0_SAVE:
        return job->n_state > 0 ? "the checkpoint has the running means of the last worker, not of rank 0; leave out "
                                  "--resume and --restarts"
                                : NULL;
    case OMIT_SHARD:
    case OMIT_SCALING:
        return NULL;
    }
    return NULL;
}

void omission_resume_text(char *out, size_t n_bytes, const struct train_job *job)
{
    const char *save = job->opts.save;
    char word[RESUME_TEXT_BYTES];

    out[0] = '\0';
    if (save[0] == '\0')
        return;
    text_shell_word(word, sizeof word, save);
    snprintf(out, n_bytes, "--resume %.200s continues", word);
    for (int i = 0; name_of[i]; i++)
        if (job->omitted & (1u << i) && why_no_resume(job, (enum omission)(1 << i))) {
            snprintf(out, n_bytes,
                     "a run with --omit %s cannot continue from %.200s: it has the state of one worker, not of each",
                     name_of[i], save);
            return;
        }
}

/* train.M2 of one omission; NULL: it means something. */
static const char *why_not(const struct train_job *job, enum omission o)
{
    const bool is_synchronous = job->mode->module.caps & MODE_SYNCHRONOUS;
    const struct train_opts *opts = &job->opts;
    const bool goes_on = opts->resume[0] != '\0' || opts->restarts > 0;

    if (goes_on && why_no_resume(job, o))
        return why_no_resume(job, o);
    switch (o) {
    case OMIT_BROADCAST:
        return job->mode->module.caps & MODE_SERVERS
                   ? "workers get their parameters from servers in every step; use --mode allreduce or none"
                   : NULL;
    case OMIT_SHARD:
        return NULL;
    case OMIT_AVERAGE:
        return is_synchronous ? NULL : "no gradients are averaged between workers; use --mode allreduce";
    case OMIT_SCALING:
        return job->scaling != LR_SCALING_NONE
                   ? NULL
                   : "the learning rate is not scaled in this run; add --lr-scaling linear or sqrt";
    case OMIT_RANK0_SAVE:
        if (!is_synchronous)
            return "workers have no common parameters to save; use --mode allreduce";
        if (opts->save[0] == '\0')
            return "no checkpoint is saved; add --save FILE";
        return opts->save_every > 0 ? "concerns only the checkpoint at the end; leave out --save-every" : NULL;
    }
    return NULL;
}

enum rc omission_check(const struct train_job *job)
{
    const char *list = job->opts.omit;
    enum rc rc = RC_OK;

    if (job->omitted == 0)
        return RC_OK;
    const char *why = why_none(job);
    if (why)
        FAIL(RC_INVAL, "--omit %s: cannot be used %s", list, why);
    for (int i = 0; name_of[i]; i++) {
        why = job->omitted & (1u << i) ? why_not(job, (enum omission)(1 << i)) : NULL;
        if (why)
            FAIL(RC_INVAL, "--omit %s: mode %s: %s", name_of[i], job->opts.mode, why);
    }
out:
    return rc;
}
