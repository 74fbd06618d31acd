/* SPDX-License-Identifier: Apache-2.0 */
/* train_kit.c - options to result in one call. */
#include "harness/train/suite/train_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"
#include "harness/train/checkpoint.h"
#include "harness/train/stages_run.h"

enum { MAX_WORDS = 64, TEXT_BYTES = 1024 };

struct kit_words { /* of a command line; options point into text */
    char text[TEXT_BYTES];
    struct train_opts opts;
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];
    int n_groups;
};

static enum rc parse(struct kit_words *out, const char *options)
{
    char *word[MAX_WORDS], *rest = NULL;
    int n_words = 0;

    snprintf(out->text, sizeof out->text, "%s", options);
    for (char *w = strtok_r(out->text, " ", &rest); w && n_words < MAX_WORDS; w = strtok_r(NULL, " ", &rest))
        word[n_words++] = w;
    out->n_groups = train_opt_groups(out->group, &out->opts);
    return opt_parse(out->group, out->n_groups, train_opt_rules, n_words, word);
}

struct kit_run {
    const struct train_job *job;
    struct train_result *result;
    struct world **rank_0; /* NULL: not wanted */
};

/* Options of the table whose text lies in text, which ends before the job does, have none. */
static void forget_text(struct train_opts *opts, const struct opt *table, const char text[static TEXT_BYTES])
{
    for (const struct opt *o = table; o->type != OPT_END; o++) {
        const char **member = (const char **)(void *)((char *)opts + o->offset_bytes);

        if ((o->type == OPT_TEXT || o->type == OPT_CHOICE || o->type == OPT_LIST) && *member >= text &&
            *member < text + TEXT_BYTES)
            *member = "";
    }
}

enum rc kit_prepare_launched(struct train_job *out, const char *options, int n_given_ranks)
{
    struct kit_words words;
    static const char *const scaling[] = {
        [LR_SCALING_NONE] = "none", [LR_SCALING_LINEAR] = "linear", [LR_SCALING_SQRT] = "sqrt"
    };
    enum rc rc;

    TRY(parse(&words, options));
    TRY(train_prepare(out, &words.opts, words.group, words.n_groups, n_given_ranks));
    out->keeps_moments = true;
    out->opts.trajectory = out->opts.trajectory[0] ? "somewhere" : "";
    out->opts.messages = out->opts.messages[0] ? "somewhere" : "";
    forget_text(&out->opts, train_run_table, words.text);
    forget_text(&out->opts, train_opt_table, words.text);
    out->opts.mode = out->mode->module.name;
    out->opts.world = out->world->module.name;
    out->opts.model = out->workload->module.name;
    out->opts.lr_scaling = scaling[out->scaling];
    out->opts.reducer = out->collective ? out->collective->module.name : "";
out:
    return rc;
}

enum rc kit_prepare(struct train_job *out, const char *options)
{
    return kit_prepare_launched(out, options, 0);
}

void kit_expect_refused(const char *options, const char *says)
{
    struct train_job job = { 0 };

    if (kit_prepare(&job, options) != RC_INVAL || !strstr(rc_message(), says) || strchr(rc_message(), '\n'))
        fail_msg("%s: \"%s\" does not say \"%s\" in one line", options, rc_message(), says);
    train_job_free(&job);
}

void kit_expect_each_refused(const char *first, const struct kit_refusal *row, size_t n)
{
    char options[TEXT_BYTES];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(options, sizeof options, "%s %s", first, row[i].options);
        kit_expect_refused(first[0] ? options : row[i].options, row[i].says);
    }
}

static enum rc body(struct world *w, void *arg)
{
    const struct kit_run *run = arg;

    if (run->rank_0 && w->rank == 0)
        *run->rank_0 = w;
    return train_rank(w, run->job, run->result);
}

static enum rc run_job(const struct kit_run *run)
{
    const struct world_opts world = train_world_opts(run->job);

    return world_run(run->job->world, &world, train_n_ranks(run->job), body, (void *)(uintptr_t)run);
}

enum rc kit_run(const struct train_job *job, struct train_result *out)
{
    return run_job(&(struct kit_run){ .job = job, .result = out });
}

enum rc kit_train(struct train_result *out, const char *options, const struct sync_mode *mode, double lr_factor)
{
    return kit_train_on(out, options, mode, lr_factor, NULL);
}

enum rc kit_train_on(struct train_result *out, const char *options, const struct sync_mode *mode, double lr_factor,
                     const struct compute_backend *compute)
{
    struct train_job job = { 0 };
    enum rc rc;

    *out = (struct train_result){ 0 };
    TRY(kit_prepare(&job, options));
    if (mode)
        job.mode = mode;
    if (compute) {
        job.compute = compute;
        job.exchange.shared_memory &= compute->host_memory;
    }
    if (lr_factor > 0)
        job.schedule.factor = lr_factor;
    TRY(kit_run(&job, out));
out:
    train_job_free(&job);
    return rc;
}

enum rc kit_train_stages(struct train_result *out, const char *options, const struct compute_backend *compute)
{
    const struct launcher alone = { 0 };
    struct train_stages_run run = { .n_stages = 0 };
    struct kit_words words;
    enum rc rc;

    *out = (struct train_result){ 0 };
    TRY(parse(&words, options));
    run.group = words.group;
    run.n_groups = words.n_groups;
    run.n_stages = (int)words.opts.stages;
    TRY(train_stages_prepare(&run, &words.opts, &alone));
    for (int i = 0; compute && i < run.n_stages; i++)
        run.job[i].compute = compute;
    const struct world_opts world = train_stages_world_opts(&run);
    TRY(world_run(run.job[0].world, &world, train_stages_n_ranks(&run), train_stages_body, &run));
    *out = run.result;
    run.result = (struct train_result){ 0 };
out:
    train_stages_free(&run);
    return rc;
}

enum rc kit_train_saving(struct train_result *out, const char *options, const char *path, int every,
                         struct world **rank_0)
{
    const struct launcher launcher = world_launcher();
    struct train_job job = { 0 };
    struct kit_run run = { .job = &job, .result = out, .rank_0 = rank_0 };
    char text[TEXT_BYTES];
    enum rc rc;

    *out = (struct train_result){ 0 };
    snprintf(text, sizeof text, "%s --save %s --save-every %d", options, path, every);
    TRY(kit_prepare_launched(&job, text, launcher.name ? launcher.n_ranks : 0));
    job.opts.save = path;
    TRY(run_job(&run));
out:
    train_job_free(&job);
    return rc;
}

double kit_distance(const struct train_result *a, const struct train_result *b)
{
    double difference = 0, length = 0;

    if (a->final.n_params != b->final.n_params)
        return INFINITY;
    for (size_t i = 0; i < a->final.n_params; i++) {
        const double d = (double)a->final.param[i] - (double)b->final.param[i];
        difference += d * d;
        length += (double)b->final.param[i] * (double)b->final.param[i];
    }
    return sqrt(difference / length);
}

void kit_must_train(struct train_result *out, const char *options)
{
    if (kit_train(out, options, NULL, 0) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
}

void kit_goes_on_alike(const char *options, int n_first, int n_steps, const char *path)
{
    struct train_result whole, first, second;
    char text[512];

    (void)snprintf(text, sizeof text, "%s --steps %d", options, n_steps);
    kit_must_train(&whole, text);
    (void)snprintf(text, sizeof text, "%s --steps %d", options, n_first);
    kit_must_train(&first, text);
    assert_int_equal(checkpoint_save(&first.final, path, NULL, NULL), RC_OK);
    (void)snprintf(text, sizeof text, "%s --steps %d --resume %s", options, n_steps, path);
    kit_must_train(&second, text);
    assert_memory_equal(whole.final.param, second.final.param, whole.final.n_params * sizeof(float));
    train_result_free(&whole);
    train_result_free(&first);
    train_result_free(&second);
}

bool kit_same_kept(const struct checkpoint *a, const struct checkpoint *b)
{
    const size_t n_elems = (size_t)optimizer_n_moments(&a->optimizer) * a->n_params;

    return a->n_params == b->n_params && a->optimizer.kind == b->optimizer.kind &&
           a->kept.n_updates == b->kept.n_updates && !a->kept.moments == !b->kept.moments &&
           (n_elems == 0 || !a->kept.moments || memcmp(a->kept.moments, b->kept.moments, n_elems * sizeof(float)) == 0);
}

void kit_make_file(char *path)
{
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
}

void kit_take_file(const char *path, char *text, size_t n_bytes)
{
    FILE *f = fopen(path, "re");

    assert_non_null(f);
    const size_t n_read = fread(text, 1, n_bytes - 1, f);
    assert_true(n_read > 0);
    text[n_read] = '\0';
    (void)fclose(f);
    (void)unlink(path);
}
