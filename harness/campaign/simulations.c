/* SPDX-License-Identifier: Apache-2.0 */
/* simulations.c - lanes, each a thread that runs one process after the other; the heaviest go first (V2). */
#include "harness/campaign/simulations.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/hold.h"
#include "harness/base/text.h"
#include "harness/campaign/kept_simulations.h"
#include "harness/report/progress.h"
#include "harness/report/record.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/thread_pool.h"
#include "harness/world/wait.h"

static const char set_option[] = "--cluster-set=";

enum { PATH_BYTES = 4096, SET_OPTION_N_BYTES = sizeof set_option - 1 };

struct lanes {
    struct simulation *s;
    size_t *order; /* [n]: those to run, heaviest first */
    size_t n, n_all;
    const struct simulations_env *env;
    _Atomic size_t next;
    atomic_flag is_taken; /* a lane has what follows, while it counts, prints a line and keeps a record */
    size_t n_done, n_known;
    double done_weight, all_weight;
};

static void forget_figures(struct simulation *s)
{
    s->step_s = s->step_mean_s = s->compute_s = s->exposed_s = NAN;
    s->imbalance_ratio = s->staleness_mean_count = s->network_bytes = NAN;
}

enum rc simulation_open(struct simulation *out)
{
    *out = (struct simulation){ .word = calloc(SIMULATION_WORDS, SIMULATION_WORD_BYTES) };
    forget_figures(out);
    return out->word ? RC_OK : rc_raise(RC_NOMEM, "no memory for the options of a simulation");
}

void simulation_close(struct simulation *s)
{
    free(s->word);
    *s = (struct simulation){ .word = NULL };
}

/* "jitter" of "jitter=none"; false: no setting is left. */
static bool next_key(const char **rest, char *setting, char *key, size_t n_bytes)
{
    if (!text_next(rest, setting, n_bytes))
        return false;
    snprintf(key, n_bytes, "%.*s", (int)strcspn(setting, "="), setting);
    return true;
}

static bool sets_key(const char *settings, const char *key)
{
    char setting[SIMULATION_WORD_BYTES], other[SIMULATION_WORD_BYTES];

    for (const char *rest = settings; next_key(&rest, setting, other, sizeof setting);)
        if (strcmp(other, key) == 0)
            return true;
    return false;
}

/* The last word is a --cluster-set: drop its keys from earlier ones, as a key can be given once. */
static void drop_overruled(struct simulation *s)
{
    const char *last = s->word[s->n_words - 1];
    char before[SIMULATION_WORD_BYTES], setting[SIMULATION_WORD_BYTES], key[SIMULATION_WORD_BYTES];

    for (int i = s->n_words - 2; i >= 0; i--) {
        if (strncmp(s->word[i], set_option, SET_OPTION_N_BYTES) != 0)
            continue;
        size_t n = SET_OPTION_N_BYTES;
        snprintf(before, sizeof before, "%s", s->word[i] + n);
        for (const char *rest = before; next_key(&rest, setting, key, sizeof setting);)
            if (!sets_key(last + SET_OPTION_N_BYTES, key))
                n += (size_t)snprintf(s->word[i] + n, SIMULATION_WORD_BYTES - n, "%s%s",
                                      n > SET_OPTION_N_BYTES ? "," : "", setting);
        if (n > SET_OPTION_N_BYTES)
            continue;
        memmove(s->word[i], s->word[i + 1], (size_t)(s->n_words - 1 - i) * sizeof *s->word);
        s->n_words--;
        last = s->word[s->n_words - 1];
    }
}

enum rc simulation_add(struct simulation *s, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (s->n_words == SIMULATION_WORDS)
        return rc_raise(RC_BUG, "more than %d options of a simulation", (int)SIMULATION_WORDS);
    va_start(ap, fmt);
    n = vsnprintf(s->word[s->n_words], SIMULATION_WORD_BYTES, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= SIMULATION_WORD_BYTES)
        return rc_raise(RC_INVAL, "%.60s...: is too long; use at most %d letters", s->word[s->n_words],
                        (int)SIMULATION_WORD_BYTES - 1);
    s->n_words++;
    if (strncmp(s->word[s->n_words - 1], set_option, SET_OPTION_N_BYTES) == 0)
        drop_overruled(s);
    return RC_OK;
}

/* n_workers: whose steps_per_s, of all, is known. */
static void take_summary(struct simulation *s, const json_t *record, int n_workers, double steps_per_s)
{
    const char *hot = json_string_value(json_object_get(record, "hot_tensor"));

    s->step_s = s->is_at_own_rates
                    ? record_number(record, "global_batch_count") / record_number(record, "throughput_samples_per_s")
                    : record_number(record, "virtual_s") / s->n_steps;
    s->step_mean_s = record_number(record, "step_mean_s");
    if (s->is_at_own_rates && n_workers > 0 && !(record_number(record, "late_gradients_count") > 0))
        s->step_s = fmax(n_workers / steps_per_s, record_number(record, "limit_server_s"));
    s->compute_s = record_number(record, "compute_s");
    s->imbalance_ratio = record_number(record, "imbalance_ratio");
    s->hot_server = (int)json_integer_value(json_object_get(record, "hot_server_index"));
    s->staleness_mean_count = record_number(record, "staleness_mean_count");
    snprintf(s->hot_tensor, sizeof s->hot_tensor, "%s", hot ? hot : "");
}

/* The records that the simulation left. */
static enum rc take_records(struct simulation *s, const char *path)
{
    FILE *from = fopen(path, "re");
    json_error_t error;
    json_t *record;
    int n_workers = 0;
    double steps_per_s = 0;

    if (!from)
        return rc_raise(RC_MISMATCH, "the simulation of %s left no records", s->name);
    while ((record = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        const char *kind = json_string_value(json_object_get(record, "kind"));
        const char *role = json_string_value(json_object_get(record, "role"));
        if (kind && strcmp(kind, "rank") == 0 && role && strcmp(role, "worker") == 0) {
            n_workers++;
            steps_per_s += 1 / record_number(record, "step_mean_s");
        }
        if (kind && strcmp(kind, "summary") == 0)
            take_summary(s, record, n_workers, steps_per_s);
        json_decref(record);
    }
    fclose(from);
    return s->step_s > 0 ? RC_OK : rc_raise(RC_MISMATCH, "the records of the simulation of %s have no time", s->name);
}

/* What its links carried, as --cost has it. */
static enum rc take_loads(struct simulation *s, const char *path)
{
    json_t *file = json_load_file(path, 0, NULL);
    const json_t *loads = json_object_get(file, "loads");
    enum rc rc = RC_OK;

    s->network_bytes = record_number(file, "network_bytes") / s->n_steps;
    for (int k = 0; k < N_LOADS && rc == RC_OK; k++) {
        const json_t *load = json_object_get(loads, load_kind_name(k));
        s->load[k] = (struct link_load){
            .index = (int)json_integer_value(json_object_get(load, "index")),
            .busy_s = record_number(load, "busy_s") / s->n_steps,
            .n_bytes = (uint64_t)json_integer_value(json_object_get(load, "bytes")) / (uint64_t)s->n_steps,
        };
        if (isnan(s->load[k].busy_s))
            rc = rc_raise(RC_MISMATCH, "the simulation of %s does not say what its links carried", s->name);
        if (s->is_at_own_rates)
            s->step_s = fmax(s->step_s, s->load[k].busy_s);
    }
    s->exposed_s = s->step_s - s->compute_s;
    json_decref(file);
    return rc;
}

static const char *first_line(char *text)
{
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void take(struct lanes *l)
{
    struct backoff backoff = { .may_spin = false };

    while (atomic_flag_test_and_set(&l->is_taken))
        backoff_pause(&backoff, 1000000);
}

/* Of a lane that waits for its process. */
static void show_time(void *arg)
{
    struct lanes *l = arg;

    take(l);
    progress_tick(l->env->progress, wait_clock_ns());
    atomic_flag_clear(&l->is_taken);
}

/* One process. */
static enum rc simulate(struct simulation *s, size_t index, struct lanes *l)
{
    const struct simulations_env *env = l->env;
    const struct child_watch watch = { .must_stop = stop_wanted, .tick = show_time, .arg = l };
    char path[PATH_BYTES], out[PATH_BYTES + 8], cost_path[PATH_BYTES], cost[PATH_BYTES + 8],
        complaint[RC_MESSAGE_BYTES / 2] = "";
    char *argv[SIMULATION_WORDS + 5];
    int exit_code = 0, n = 0;
    enum rc rc;

    snprintf(path, sizeof path, "%s/.simulation-%zu.jsonl", env->folder, index);
    snprintf(out, sizeof out, "--out=%s", path);
    snprintf(cost_path, sizeof cost_path, "%s/.simulation-%zu.json", env->folder, index);
    snprintf(cost, sizeof cost, "--cost=%s", cost_path);
    argv[n++] = (char *)(uintptr_t)env->self_path;
    argv[n++] = "train";
    for (int i = 0; i < s->n_words; i++)
        argv[n++] = s->word[i];
    argv[n++] = out;
    argv[n++] = cost;
    argv[n] = NULL;
    TRY(child_run_watched(argv, 0, &watch, &exit_code, complaint, sizeof complaint));
    if (exit_code != 0) {
        char ending[sizeof complaint + 64];
        child_ending(ending, sizeof ending, exit_code, first_line(complaint));
        FAIL(RC_PEER, "the simulation of %s %s", s->name, ending);
    }
    TRY(take_records(s, path));
    TRY(take_loads(s, cost_path));
out:
    (void)unlink(path);
    (void)unlink(cost_path);
    return rc;
}

/* Why it failed, without its name. */
static const char *reason_of(const struct simulation *s)
{
    const char *name = strstr(s->why, s->name);

    return name ? name + strlen(s->name) : s->why;
}

/* Did another one fail for the same reason before? */
static bool has_failed_alike(const struct lanes *l, const struct simulation *s)
{
    for (size_t i = 0; i < l->n_all; i++)
        if (&l->s[i] != s && l->s[i].has_failed && strcmp(reason_of(&l->s[i]), reason_of(s)) == 0)
            return true;
    return false;
}

/* V3 */
static void note_failure(struct lanes *l, struct simulation *s)
{
    forget_figures(s);
    s->hot_tensor[0] = '\0';
    if (stop_wanted())
        return;
    s->has_failed = true;
    snprintf(s->why, sizeof s->why, "%.*s", (int)sizeof s->why - 1, rc_message());
    if (!has_failed_alike(l, s))
        progress_say(l->env->progress, "%s; the others continue", s->why);
}

/* V4. One that cannot be kept counts all the same. */
static void keep(struct lanes *l, struct simulation *s)
{
    s->is_known = true;
    l->n_known++;
    if (l->env->kept && kept_simulations_add(l->env->kept, s) != RC_OK)
        progress_say(l->env->progress, "%s is not kept: %s", s->name, rc_message());
    hold_at("kept", 0, l->n_known);
}

static void note_end(struct lanes *l, struct simulation *s, enum rc rc)
{
    take(l);
    if (rc != RC_OK)
        note_failure(l, s);
    else
        keep(l, s);
    if (rc == RC_OK || !stop_wanted()) {
        l->done_weight += s->weight;
        progress_weigh(l->env->progress, l->all_weight > 0 ? l->done_weight / l->all_weight : 1);
        progress_update(l->env->progress, ++l->n_done, s->name, wait_clock_ns());
    }
    atomic_flag_clear(&l->is_taken);
}

/* A lane. */
static void run_lane(void *arg, int task, int thread)
{
    struct lanes *l = arg;
    size_t i;

    (void)task;
    (void)thread;
    while (!stop_wanted() && (i = atomic_fetch_add(&l->next, 1)) < l->n) {
        struct simulation *s = &l->s[l->order[i]];
        note_end(l, s, simulate(s, l->order[i], l));
    }
}

/* V2 */
static bool starts_before(const struct simulation *a, const struct simulation *b)
{
    return a->stage != b->stage ? a->stage < b->stage : a->weight > b->weight;
}

/* order[*n_order] := indices of those of s that are not known, in the order of V2; equal ones stay as they are. */
static void sort_by_start(size_t *order, size_t *n_order, const struct simulation *s, size_t n)
{
    *n_order = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = *n_order;
        if (s[i].is_known)
            continue;
        for (; at > 0 && starts_before(&s[i], &s[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
        ++*n_order;
    }
}

size_t simulations_n_left(const struct simulation *s, size_t n)
{
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++)
        n_left += !s[i].is_known;
    return n_left;
}

enum rc simulations_run(struct simulation *s, size_t n, const struct simulations_env *env)
{
    struct lanes l = { .s = s, .n_all = n, .env = env, .is_taken = ATOMIC_FLAG_INIT };
    struct thread_pool *pool = NULL;
    enum rc rc;

    l.order = calloc(n + 1, sizeof *l.order);
    if (!l.order)
        return rc_raise(RC_NOMEM, "no memory for the order of %zu simulations", n);
    sort_by_start(l.order, &l.n, s, n);
    l.n_known = n - l.n;
    const int n_lanes = l.n < (size_t)env->n_jobs ? (l.n > 0 ? (int)l.n : 1) : env->n_jobs;
    for (size_t i = 0; i < l.n; i++)
        l.all_weight += s[l.order[i]].weight;
    TRY(thread_pool_open(&pool, n_lanes, false));
    thread_pool_run(pool, run_lane, &l, n_lanes);
    if (stop_wanted())
        FAIL(RC_PEER, "stopped by %s after %zu of %zu simulations", stop_signal_name(stop_signal()), l.n_known, n);
out:
    thread_pool_close(&pool);
    free(l.order);
    return rc;
}

enum rc simulations_check(const struct simulation *s, size_t n)
{
    const struct simulation *first = NULL;
    size_t n_failed = 0;

    for (size_t i = 0; i < n; i++) {
        if (!first && s[i].has_failed)
            first = &s[i];
        n_failed += s[i].has_failed;
    }
    return first ? rc_raise(RC_PEER, "%zu of %zu simulations failed; %s%s", n_failed, n,
                            n_failed > 1 ? "the first: " : "", first->why)
                 : RC_OK;
}
