/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs_test.c MODE WORLD - every two of the options below in one run: it ends, with records whose values hold, or it
 * is refused in one line that names both, if not one of them alone is refused here. Each run has a process of its own:
 * one that crashes or hangs is one pair, and a process has one simulation.
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/net/message_log.h"
#include "harness/report/record.h"
#include "harness/train/suite/train_kit.h"

enum { N_STEPS = 6, N_RESUMED = 2, BATCH = 10, N_WORKERS = 2, LIMIT_S = 600, EXIT_SKIPPED = 77 };

static const struct item {
    const char *option, *text; /* its name, and as it is given; "SAVE", "RESUME" in it: files */
    bool needs_save;
} items[] = {
    { "--omit", "--omit broadcast", false },
    { "--omit", "--omit shard", false },
    { "--omit", "--omit average", false },
    { "--omit", "--lr-scaling linear --omit scaling", false },
    { "--omit", "--omit rank0-save", true },
    { "--split", "--split unequal:3,1", false },
    { "--average-every", "--average-every 2", false },
    { "--lr-staleness", "--lr-staleness inverse", false },
    { "--messages", "--messages unused", false },
    { "--trajectory", "--trajectory unused", false },
    { "--consistency", "--consistency ssp:1", false },
    { "--consistency", "--consistency sync", false },
    { "--consistency", "--consistency sync:1", false },
    { "--placement", "--placement chunk:4", false },
    { "--servers", "--servers 2", false },
    { "--colocate", "--colocate", false },
    { "--in-flight", "--in-flight 3", false },
    { "--restarts", "--restarts 1", true },
    { "--save", "", true },
    { "--save-every", "--save-every 2", true },
    { "--resume", "--resume RESUME", false },
    { "--global-batch", "--global-batch 20", false },
    { "--accumulate", "--accumulate 2", false },
    { "--overlap", "--overlap on --partition-bytes 4", false },
    { "--on-loss", "--on-loss report", false },
    { "--elastic", "--elastic", false },
    { "--verify-every", "--verify-every 2", false },
    { "--inject", "--inject rank:1=0.8", false },
};
enum { N_ITEMS = sizeof items / sizeof *items, ALONE = N_ITEMS };

struct files {
    char folder[64], save[96], resume[96], records[96];
};

struct outcome { /* of a process */
    enum rc rc;  /* of preparing; RC_BUG: it ran, and a value does not hold */
    char message[RC_MESSAGE_BYTES];
};

static bool has(const char *options, const char *text)
{
    return strstr(options, text) != NULL;
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

#define HOLDS(what)                                    \
    do {                                               \
        if (!(what))                                   \
            return rc_raise(RC_BUG, "not: %s", #what); \
    } while (0)

/* Staleness of a push is at most what others push between two of a worker's own. */
static enum rc check_staleness(const char *options, const struct train_result *r)
{
    const unsigned others = (unsigned)r->n_workers - 1;
    const bool has_servers = has(options, "--mode ps");
    const unsigned most_steps = has(options, "--elastic") ? N_STEPS * N_WORKERS : N_STEPS;
    const unsigned bound = !has_servers || has(options, "--consistency sync ") ? 0
                           : has(options, "--consistency ssp:1")               ? 3 * others
                                                                               : most_steps * others;

    for (size_t i = 0; i < (size_t)r->n_workers * r->n_steps; i++)
        HOLDS(r->stamp[i].staleness_count <= bound);
    return RC_OK;
}

static enum rc check_messages(const char *options, const struct train_result *r)
{
    uint64_t n_sent = 0, n_received = 0;
    const struct logged_message *m = r->message;

    if (!has(options, "--messages"))
        return RC_OK;
    HOLDS(r->n_messages);
    for (int rank = 0; rank < r->n_ranks; rank++)
        for (uint64_t i = 0; i < r->n_messages[rank]; i++, m++) {
            n_sent += !m->is_received;
            n_received += m->is_received;
        }
    HOLDS(n_sent == n_received && n_sent > 0);
    return RC_OK;
}

/* Where all are to have the same, each has what the first has. */
static enum rc check_trajectory(const char *options, const struct train_result *r)
{
    const size_t n_params = 2, n_rows = r->n_steps + 1;

    if (!has(options, "--trajectory"))
        return RC_OK;
    HOLDS(r->trajectory);
    if (!has(options, "--mode allreduce") || has(options, "broadcast") || has(options, "average"))
        return RC_OK;
    for (int w = 1; w < r->n_workers; w++)
        HOLDS(memcmp(r->trajectory, r->trajectory + (size_t)w * n_rows * n_params, n_rows * n_params * sizeof(float)) ==
              0);
    return RC_OK;
}

static enum rc check_checkpoint(const char *options, const struct files *f, const struct train_result *r)
{
    struct checkpoint saved;
    enum rc rc;

    if (!has(options, "--save "))
        return RC_OK;
    if (!has(options, "rank0-save")) /* there the ranks have */
        TRY(checkpoint_save(&r->final, f->save, NULL, NULL));
    TRY(checkpoint_load(&saved, f->save));
    const bool is_same = saved.steps_count == r->final.steps_count && saved.samples_count == r->final.samples_count;
    const uint64_t writer = has(options, "rank0-save") ? N_WORKERS - 1 : 0;
    const bool is_by = saved.writer_rank == writer;
    checkpoint_free(&saved);
    HOLDS(is_same && is_by);
out:
    return rc;
}

static enum rc write_records(const struct files *f, const struct train_job *job, const struct train_result *r)
{
    struct train_summary s;
    struct report *to = NULL;
    enum rc rc;

    TRY(train_summarise(&s, job, r));
    TRY(report_open(&to, f->records));
    TRY(train_write(to, job, r, &s));
    TRY(report_commit(to));
    const double throughput = s.measured.throughput_samples_per_s.mean;
    if (train_waits_for_all(job)) /* else there may be no moment of so few steps in which all were at work */
        HOLDS(throughput > 0);
    HOLDS(isnan(throughput) || throughput > 0);
    HOLDS(isnan(s.bound_ratio) || !(job->omitted & OMIT_AVERAGE));
out:
    report_close(&to);
    return rc;
}

static enum rc check_values(const char *options, const struct files *f, const struct train_job *job,
                            const struct train_result *r)
{
    const uint64_t n_before = has(options, "--resume") ? N_RESUMED : 0;
    const int n_workers = has(options, "--mode single") ? 1 : N_WORKERS;
    const uint64_t n_round = has(options, "--global-batch") ? 20 : (uint64_t)n_workers * BATCH;
    enum rc rc;

    HOLDS(r->n_workers == n_workers && r->n_losses == 0 && r->stop_signal == 0);
    HOLDS(r->n_steps == N_STEPS - n_before || has(options, "--elastic"));
    HOLDS(train_n_whole_steps(job, r) == N_STEPS - n_before && r->final.steps_count == N_STEPS);
    HOLDS(r->final.samples_count == n_before * N_WORKERS * BATCH + (N_STEPS - n_before) * n_round);
    for (size_t i = 0; i < (size_t)r->n_workers * r->n_steps; i++)
        HOLDS(isfinite(r->stamp[i].loss) && r->stamp[i].start_ns <= r->stamp[i].end_ns);
    for (size_t i = 0; i < r->final.n_params; i++)
        HOLDS(isfinite(r->final.param[i]) && r->final.param[i] != 0.0f);
    TRY(check_staleness(options, r));
    TRY(check_messages(options, r));
    TRY(check_trajectory(options, r));
    TRY(check_checkpoint(options, f, r));
    TRY(write_records(f, job, r));
out:
    return rc;
}

static enum rc run(const char *options, const struct files *f)
{
    struct train_result result = { 0 };
    struct train_job job = { 0 };
    char text[RC_MESSAGE_BYTES];
    enum rc rc;

    TRY(kit_prepare(&job, options));
    job.opts.save = has(options, "--save ") ? f->save : "";
    rc = kit_run(&job, &result);
    if (rc == RC_OK)
        rc = check_values(options, f, &job, &result);
    if (rc != RC_OK) {
        (void)snprintf(text, sizeof text, "%s", rc_message());
        rc = rc_raise(RC_BUG, "it ran: %.400s", text);
    }
out:
    train_result_free(&result);
    train_job_free(&job);
    return rc;
}

/* In a process of its own. */
static struct outcome try_options(const char *options, const struct files *f)
{
    struct outcome o = { .rc = RC_BUG };
    int status, line[2];

    if (pipe(line) != 0)
        exit(EXIT_FAILURE);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(LIMIT_S);
        o.rc = run(options, f);
        (void)snprintf(o.message, sizeof o.message, "%s", o.rc == RC_OK ? "" : rc_message());
        _exit(write(line[1], &o, sizeof o) == (ssize_t)sizeof o ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    (void)close(line[1]);
    if (pid < 0 || read(line[0], &o, sizeof o) != (ssize_t)sizeof o)
        (void)snprintf(o.message, sizeof o.message, "the process ended by itself");
    (void)close(line[0]);
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    return o;
}

/* --- all pairs ---------------------------------------------------------------------------------------------------- */

static void write_options(char *out, size_t n_bytes, const char *mode, const char *world, const struct files *f, int i,
                          int k)
{
    const bool saves = items[i].needs_save || (k != ALONE && items[k].needs_save);
    char resume[128];
    size_t n = (size_t)snprintf(out, n_bytes, "--model linear --batch %d --steps %d --lr 0.1 --mode %s --world %s",
                                BATCH, N_STEPS, mode, world);

    if (strcmp(items[i].option, "--global-batch") == 0 ||
        (k != ALONE && strcmp(items[k].option, "--global-batch") == 0))
        n = (size_t)snprintf(out, n_bytes, "--model linear --steps %d --lr 0.1 --mode %s --world %s", N_STEPS, mode,
                             world);
    if (strcmp(mode, "single") != 0)
        n += (size_t)snprintf(out + n, n_bytes - n, " --workers %d", N_WORKERS);
    for (int which = 0; which < (k == ALONE ? 1 : 2); which++) {
        const char *text = items[which == 0 ? i : k].text;
        (void)snprintf(resume, sizeof resume, "--resume %s", f->resume);
        if (text[0])
            n += (size_t)snprintf(out + n, n_bytes - n, " %s", strcmp(text, "--resume RESUME") == 0 ? resume : text);
    }
    if (saves)
        n += (size_t)snprintf(out + n, n_bytes - n, " --save %s", f->save);
    (void)snprintf(out + n, n_bytes - n, " --eval-samples 0");
}

/* Is the option named, and not as a part of another's name? */
static bool names(const char *message, const char *option)
{
    const size_t n = strlen(option);

    for (const char *at = strstr(message, option); at; at = strstr(at + 1, option))
        if (at[n] != '-' && !(at[n] >= 'a' && at[n] <= 'z'))
            return true;
    return false;
}

/* One that needs another may be refused by that one's name. */
static bool names_item(const char *message, const struct item *item)
{
    return names(message, item->option) || (has(item->text, "--lr-scaling") && names(message, "--lr-scaling"));
}

/* What --mode ps refuses alone, and takes with servers that keep all workers in step. */
static bool is_made_right(const struct item *a, const struct item *b)
{
    const bool checks = has(a->text, "--verify-every") || has(b->text, "--verify-every");

    return checks && (strcmp(a->text, "--consistency sync") == 0 || strcmp(b->text, "--consistency sync") == 0);
}

static int try_pair(const char *mode, const char *world, const struct files *f, int i, int k, const bool *is_refused)
{
    char options[640];

    write_options(options, sizeof options, mode, world, f, i, k);
    const struct outcome o = try_options(options, f);
    const bool is_named = names_item(o.message, &items[i]) && names_item(o.message, &items[k]);
    const bool is_right =
        o.rc == RC_OK ? (!is_refused[i] && !is_refused[k]) || is_made_right(&items[i], &items[k])
                      : (o.rc == RC_INVAL && !strchr(o.message, '\n') && (is_refused[i] || is_refused[k] || is_named));

    if (!is_right)
        fprintf(stderr, "%s:\n    %s: %s\n", options, rc_name(o.rc), o.message);
    return !is_right;
}

static int try_pairs(const char *mode, const char *world, const struct files *f, int *n_ran)
{
    bool is_refused[N_ITEMS];
    int n_failures = 0;

    for (int i = 0; i < N_ITEMS; i++) {
        char options[640];
        write_options(options, sizeof options, mode, world, f, i, ALONE);
        const struct outcome o = try_options(options, f);
        is_refused[i] = o.rc != RC_OK;
        *n_ran += o.rc == RC_OK;
        if (o.rc != RC_OK && (o.rc != RC_INVAL || !strchr(o.message, '-'))) {
            fprintf(stderr, "%s:\n    %s: %s\n", options, rc_name(o.rc), o.message);
            n_failures++;
        }
    }
    for (int i = 0; i < N_ITEMS; i++)
        for (int k = i + 1; k < N_ITEMS; k++)
            if (strcmp(items[i].option, items[k].option) != 0)
                n_failures += try_pair(mode, world, f, i, k, is_refused);
    return n_failures;
}

static int open_files(struct files *f)
{
    float values[4] = { 0.5f, 0.25f, 0, 0 };
    const struct checkpoint c = { .model = "linear",
                                  .seed = 1,
                                  .steps_count = N_RESUMED,
                                  .samples_count = N_RESUMED * N_WORKERS * BATCH,
                                  .n_params = 2,
                                  .param = values,
                                  .optimizer = { .kind = OPTIMIZER_MOMENTUM },
                                  .kept = { .moments = values + 2 } };

    *f = (struct files){ .folder = "/tmp/pairs_test.XXXXXX" };
    if (!mkdtemp(f->folder))
        return 1;
    (void)snprintf(f->save, sizeof f->save, "%s/save", f->folder);
    (void)snprintf(f->resume, sizeof f->resume, "%s/resume", f->folder);
    (void)snprintf(f->records, sizeof f->records, "%s/records", f->folder);
    return checkpoint_save(&c, f->resume, NULL, NULL) != RC_OK;
}

int main(int argc, char **argv)
{
    const struct world_ops *world;
    struct files f;
    int n_ran = 0;

    if (argc != 3 || open_files(&f) != 0)
        return EXIT_FAILURE;
    const bool is_built = world_find(&world, argv[2]) == RC_OK;
    const int n_failures = is_built ? try_pairs(argv[1], argv[2], &f, &n_ran) : 0;
    (void)unlink(f.save);
    (void)unlink(f.resume);
    (void)unlink(f.records);
    (void)rmdir(f.folder);
    if (!is_built)
        printf("skipped: %s\n", rc_message());
    else if (n_ran < 3)
        fprintf(stderr, "%d of %d options run in mode %s alone\n", n_ran, N_ITEMS, argv[1]);
    return !is_built ? EXIT_SKIPPED : n_failures > 0 || n_ran < 3 ? EXIT_FAILURE : EXIT_SUCCESS;
}
