/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradmark_test.c [CASE] - libgradmark through its public header alone, by one rank, under mpiexec or gradmark launch:
 * values of collectives, W ranks are the big batch (lib.I4), and what is refused (lib.I2). The exit code tells. Cases
 * of processes of gradmark launch alone, where a rank fails, or does not come.
 */
#include <gradmark.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(what) expect((what) != 0, #what, __LINE__)

static int expect(int is_true, const char *what, int line)
{
    if (!is_true)
        fprintf(stderr, "gradmark_test.c:%d: not so: %s (%s)\n", line, what, gm_message());
    return !is_true;
}

enum { MOST_RANKS = 8, N_STEPS = 25 };

static const size_t lengths[] = { 1, 2, 97, 4099, 3 };

static int collectives(struct gm_job *job)
{
    const int r = gm_rank(job), n_ranks = gm_size(job);
    static float block[MOST_RANKS * 4099 + 1], gathered[MOST_RANKS * 4099 + 1];
    float *data = block + 1, *all = gathered + 1; /* aligned to a float, no more */
    int n_failures = 0;

    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k];
        int n_wrong = 0;
        for (size_t i = 0; i < n; i++)
            data[i] = (float)(100 * r + (int)(i % 89));
        data[n] = -7;
        n_failures += EXPECT(gm_allgather(job, data, n, all) == GM_OK);
        for (size_t i = 0; i < n * (size_t)n_ranks; i++)
            n_wrong += all[i] != (float)(100 * (int)(i / n) + (int)(i % n % 89));
        n_failures += EXPECT(gm_allreduce_into(job, data, n, all, GM_SUM) == GM_OK);
        for (size_t i = 0; i < n; i++)
            n_wrong += data[i] != (float)(100 * r + (int)(i % 89));
        n_failures += EXPECT(gm_allreduce(job, data, n, GM_SUM) == GM_OK);
        n_failures += EXPECT(memcmp(all, data, n * sizeof *all) == 0);
        for (size_t i = 0; i < n; i++)
            n_wrong += data[i] != (float)(50 * n_ranks * (n_ranks - 1) + n_ranks * (int)(i % 89));
        for (size_t i = 0; i < n; i++)
            data[i] = (float)(2 * r + (int)(i % 89));
        n_failures += EXPECT(gm_allreduce_into(job, data, n, all, GM_AVERAGE) == GM_OK);
        n_failures += EXPECT(gm_allreduce(job, data, n, GM_AVERAGE) == GM_OK);
        n_failures += EXPECT(memcmp(all, data, n * sizeof *all) == 0);
        for (size_t i = 0; i < n; i++)
            n_wrong += data[i] != (float)(n_ranks - 1 + (int)(i % 89));
        for (size_t i = 0; i < n; i++)
            data[i] = (float)r;
        n_failures += EXPECT(gm_broadcast(job, data, n, n_ranks - 1) == GM_OK);
        for (size_t i = 0; i < n; i++)
            n_wrong += data[i] != (float)(n_ranks - 1);
        n_failures += EXPECT(n_wrong == 0);
        n_failures += EXPECT(data[n] == -7);
    }
    return n_failures + EXPECT(gm_barrier(job) == GM_OK);
}

static int refused_rules(struct gm_job *job)
{
    const struct gm_rule adam = gm_rule_of(GM_ADAM), adagrad = gm_rule_of(GM_ADAGRAD);
    struct gm_rule rule[] = { adam, adam, adam, adam, adagrad, adagrad, gm_rule_of(GM_SGD) };
    static const char *const says[] = { "beta1 is 1",    "beta2 is -0.5",      "epsilon is 0",  "momentum is 0.9",
                                        "initial is -1", "weight_decay is -1", "optimizer is 3" };
    struct gm_sgd *sgd = NULL;
    int n_failures = 0;

    rule[0].beta1 = 1;
    rule[1].beta2 = -0.5;
    rule[2].epsilon = 0;
    rule[3].momentum = 0.9;
    rule[4].initial = -1;
    rule[5].weight_decay = -1;
    rule[6].optimizer = (enum gm_optimizer)3;
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        n_failures +=
            EXPECT(gm_sgd_open_rule(&sgd, job, 4, &rule[i]) == GM_INVAL && !sgd && strstr(gm_message(), says[i]));
    return n_failures;
}

static int refusals(struct gm_job *job)
{
    struct gm_model *model = NULL;
    struct gm_sgd *sgd = NULL;
    struct gm_ps *ps = NULL;
    struct gm_job *second = NULL;
    float x[4] = { 1, 2, 3, 4 };
    int n_failures = 0;

    n_failures += EXPECT(gm_init(NULL, NULL) == GM_INVAL && strstr(gm_message(), "out is NULL"));
    n_failures +=
        EXPECT(gm_init(&second, NULL) == GM_INVAL && !second && strstr(gm_message(), "a job is open in this"));
    n_failures += EXPECT(gm_allreduce(NULL, x, 4, GM_SUM) == GM_INVAL && strstr(gm_message(), "gm_init() makes one"));
    n_failures += EXPECT(gm_allreduce(job, x, 4, (enum gm_op)7) == GM_INVAL && strstr(gm_message(), "op is 7"));
    n_failures += EXPECT(gm_allreduce_into(job, x, 4, x, GM_SUM) == GM_INVAL && strstr(gm_message(), "gm_allreduce()"));
    n_failures += EXPECT(gm_allreduce_into(job, x, 3, x + 1, GM_SUM) == GM_INVAL);
    n_failures += EXPECT(gm_allreduce_into(job, NULL, 4, x, GM_SUM) == GM_INVAL);
    n_failures +=
        EXPECT(gm_broadcast(job, x, 4, gm_size(job)) == GM_INVAL && strstr(gm_message(), "the ranks are 0 to"));
    n_failures += EXPECT(gm_broadcast(job, x, 4, -1) == GM_INVAL);
    n_failures += EXPECT(gm_sgd_open(&sgd, job, 4, 1.0f, 0) == GM_INVAL && strstr(gm_message(), "momentum is 1"));
    n_failures += EXPECT(gm_sgd_open(&sgd, job, 0, 0, 0) == GM_INVAL && !sgd);
    n_failures += EXPECT(gm_sgd_open_rule(&sgd, job, 4, NULL) == GM_INVAL && strstr(gm_message(), "rule is NULL"));
    n_failures += refused_rules(job);
    n_failures += EXPECT(gm_ps_open(&ps, job, x, 4, gm_size(job), 0, NULL) == GM_INVAL && !ps);
    n_failures += EXPECT(strstr(gm_message(), "one server and one worker"));
    n_failures += EXPECT(gm_ps_open(&ps, job, x, 4, 0, 0, NULL) == GM_INVAL);
    if (gm_size(job) > 1) {
        n_failures += EXPECT(gm_ps_open(&ps, job, x, 0, 1, 0, NULL) == GM_INVAL);
        n_failures += EXPECT(gm_ps_open(&ps, job, x, 4, 1, 0, "later") == GM_INVAL && strstr(gm_message(), "later"));
    }
    n_failures += EXPECT(gm_model_open(&model, "lenett", NULL, 4, 1) == GM_INVAL && strstr(gm_message(), "lenet"));
    n_failures += EXPECT(gm_model_open(&model, "lenet", "/no/such/file", 4, 1) == GM_INVAL && !model);
    n_failures += EXPECT(gm_model_open(&model, "linear", "/no/such/file", 4, 1) == GM_INVAL && !model);
    n_failures += EXPECT(gm_model_open(&model, "replay", NULL, 4, 1) == GM_INVAL && !model);
    n_failures += EXPECT(gm_line(x, x, 1001, 1) == GM_INVAL && strstr(gm_message(), "there are 1000 samples"));
    n_failures += EXPECT(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] == 4);
    return n_failures;
}

/* Steps of one rank with all samples of all ranks: what W ranks have to end with. */
static int train_alone(const char *name, int n_ranks, size_t batch, float lr, float momentum, float **out, size_t *n)
{
    struct gm_model *model;
    double loss;
    int n_failures = EXPECT(gm_model_open(&model, name, NULL, batch * (size_t)n_ranks, 3) == GM_OK);

    *n = gm_model_n_params(model);
    float *param = calloc(*n, sizeof *param), *grad = calloc(*n, sizeof *grad), *v = calloc(*n, sizeof *v);
    n_failures += EXPECT(gm_model_init(model, 11, param) == GM_OK);
    for (int step = 0; step < N_STEPS; step++) {
        const size_t n_samples = batch * (size_t)n_ranks;
        n_failures +=
            EXPECT(gm_model_gradient(model, param, (uint64_t)step * n_samples, n_samples, grad, &loss) == GM_OK);
        for (size_t i = 0; i < *n; i++) {
            v[i] = momentum * v[i] + grad[i];
            param[i] -= lr * v[i];
        }
    }
    gm_model_close(&model);
    free(grad);
    free(v);
    *out = param;
    return n_failures;
}

/* Largest difference, against the largest value. */
static double distance(const float *a, const float *b, size_t n)
{
    double most = 0, largest = 1e-30;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return most / largest;
}

static int train_together(struct gm_job *job, const char *name, size_t batch, float lr, float momentum, int n_servers,
                          float *param, size_t n)
{
    struct gm_model *model;
    struct gm_sgd *sgd = NULL;
    struct gm_ps *ps = NULL;
    double loss = 0;
    int n_failures = EXPECT(gm_model_open(&model, name, NULL, batch, 3) == GM_OK);
    float *grad = calloc(n, sizeof *grad);
    const int n_workers = gm_size(job) - n_servers, r = gm_rank(job);

    n_failures += EXPECT(gm_model_init(model, 11 + (uint64_t)r, param) == GM_OK); /* each its own */
    if (n_servers > 0) {
        n_failures += EXPECT(gm_ps_open(&ps, job, param, n, n_servers, momentum, "sync") == GM_OK);
        n_failures += EXPECT(gm_ps_n_workers(ps) == n_workers && gm_ps_is_server(ps) == (r >= n_workers));
    } else {
        n_failures += EXPECT(gm_broadcast(job, param, n, 0) == GM_OK);
        n_failures += EXPECT(gm_sgd_open(&sgd, job, n, momentum, 0) == GM_OK);
    }
    if (ps && gm_ps_is_server(ps)) {
        n_failures += EXPECT(gm_push(ps, grad, lr) == GM_INVAL && strstr(gm_message(), "is a server"));
        n_failures += EXPECT(gm_ps_serve(ps) == GM_OK);
    }
    for (int step = 0; step < N_STEPS && r < n_workers; step++) {
        if (ps)
            n_failures += EXPECT(gm_pull(ps, param) == GM_OK);
        n_failures += EXPECT(
            gm_model_gradient(model, param, (uint64_t)(step * n_workers + r) * batch, batch, grad, &loss) == GM_OK);
        const float before = grad[0];
        n_failures += EXPECT((ps ? gm_push(ps, grad, lr) : gm_sgd_step(sgd, param, grad, lr)) == GM_OK);
        n_failures += EXPECT(grad[0] == before);
    }
    n_failures += EXPECT(isfinite(loss));
    n_failures += EXPECT(gm_ps_close(&ps, param) == GM_OK && !ps);
    gm_sgd_close(&sgd);
    gm_model_close(&model);
    free(grad);
    return n_failures;
}

/* lib.I4. */
static int big_batch(struct gm_job *job, const char *name, float lr, float momentum, int n_servers)
{
    enum { BATCH = 12 };
    /* A network's maximum or ReLU whose inputs are nearly equal falls the other way when sums are rounded in another
     * order: on one CPU 6e-4 after one such input, 5e-8 without. A learning rate wrong by 1 % misses by 5e-3 and more,
     * the linear model's by 2e-3. */
    const double most = strcmp(name, "linear") == 0 ? 1e-6 : 2e-3;
    float *wanted, *param;
    size_t n;
    int n_failures = train_alone(name, gm_size(job) - n_servers, BATCH, lr, momentum, &wanted, &n);

    param = calloc(n, sizeof *param);
    n_failures += train_together(job, name, BATCH, lr, momentum, n_servers, param, n);
    if (gm_rank(job) == 0) {
        const double missed = distance(param, wanted, n);
        if (missed > most)
            fprintf(stderr, "%s, %d servers: missed by %g\n", name, n_servers, missed);
        n_failures += EXPECT(missed <= most);
    }
    free(param);
    free(wanted);
    return n_failures;
}

enum { N_RULED = 97, N_RULED_STEPS = 12 };

/* Of rank r in step t; powers of two, so that means are exact. */
static float ruled_gradient(int r, int t, int i)
{
    return (float)((i * 7 + t * 3 + r) % 17 - 8) / 16;
}

/* The rule as gradmark.h writes it, of one parameter. */
static double by_rule(const struct gm_rule *rule, double p, int n_ranks, int i, double lr)
{
    double m = 0, v = rule->optimizer == GM_ADAGRAD ? rule->initial : 0;

    for (int t = 0; t < N_RULED_STEPS; t++) {
        double d = 0;
        for (int r = 0; r < n_ranks; r++)
            d += (double)ruled_gradient(r, t, i) / n_ranks;
        d += rule->weight_decay * p;
        if (rule->optimizer == GM_ADAGRAD) {
            v += d * d;
            p -= lr * d / (sqrt(v) + rule->epsilon);
        } else {
            m = rule->beta1 * m + (1 - rule->beta1) * d;
            v = rule->beta2 * v + (1 - rule->beta2) * d * d;
            p -= lr * (m / (1 - pow(rule->beta1, t + 1))) / (sqrt(v / (1 - pow(rule->beta2, t + 1))) + rule->epsilon);
        }
    }
    return p;
}

/* Steps of all ranks with a rule, on workers or on a server, come to what the formula does. */
static int rules(struct gm_job *job, enum gm_optimizer optimizer, int n_servers)
{
    const int n_workers = gm_size(job) - n_servers, r = gm_rank(job);
    struct gm_rule rule = gm_rule_of(optimizer);
    float param[N_RULED], grad[N_RULED];
    struct gm_sgd *sgd = NULL;
    struct gm_ps *ps = NULL;
    int n_failures = 0;

    rule.weight_decay = 0.01;
    rule.initial = 0.125;
    for (int i = 0; i < N_RULED; i++)
        param[i] = (float)(i % 5 - 2);
    if (n_servers > 0)
        n_failures += EXPECT(gm_ps_open_rule(&ps, job, param, N_RULED, n_servers, &rule, "sync") == GM_OK);
    else
        n_failures += EXPECT(gm_sgd_open_rule(&sgd, job, N_RULED, &rule) == GM_OK);
    if (r >= n_workers)
        n_failures += EXPECT(gm_ps_serve(ps) == GM_OK);
    for (int t = 0; t < N_RULED_STEPS && r < n_workers; t++) {
        for (int i = 0; i < N_RULED; i++)
            grad[i] = ruled_gradient(r, t, i);
        n_failures += EXPECT((ps ? gm_push(ps, grad, 0.25f) : gm_sgd_step(sgd, param, grad, 0.25f)) == GM_OK);
    }
    n_failures += EXPECT(gm_ps_close(&ps, param) == GM_OK);
    gm_sgd_close(&sgd);
    for (int i = 0; i < N_RULED && (n_servers == 0 || r == 0); i++)
        n_failures += EXPECT(fabs((double)param[i] - by_rule(&rule, i % 5 - 2, n_workers, i, 0.25)) < 2e-5);
    return n_failures;
}

/* Slope and offset of least squares, from the samples. */
static int line_is_found(struct gm_job *job)
{
    static float x[1000], y[1000];
    double mx = 0, my = 0, xx = 0, xy = 0;
    float param[2], grad[2];
    struct gm_model *model;
    struct gm_sgd *sgd;
    double loss;
    int n_failures = EXPECT(gm_line(x, y, 1000, 3) == GM_OK);

    for (int i = 0; i < 1000; i++) {
        mx += (double)x[i] / 1000;
        my += (double)y[i] / 1000;
        xx += (double)x[i] * (double)x[i] / 1000;
        xy += (double)x[i] * (double)y[i] / 1000;
    }
    const double slope = (xy - mx * my) / (xx - mx * mx), offset = my - slope * mx;
    n_failures += EXPECT(gm_model_open(&model, "linear", NULL, 1000, 3) == GM_OK);
    n_failures += EXPECT(gm_model_n_params(model) == 2 && gm_model_n_samples(model) == 1000);
    n_failures += EXPECT(gm_model_init(model, 1, param) == GM_OK && param[0] == 0 && param[1] == 0);
    n_failures += EXPECT(gm_sgd_open(&sgd, job, 2, 0, 0) == GM_OK);
    for (int step = 0; step < 150; step++) {
        n_failures += EXPECT(gm_model_gradient(model, param, 0, 1000, grad, &loss) == GM_OK);
        n_failures += EXPECT(gm_sgd_step(sgd, param, grad, 0.5f) == GM_OK);
    }
    n_failures += EXPECT(fabs((double)param[0] - slope) < 1e-3 && fabs((double)param[1] - offset) < 1e-3);
    n_failures += EXPECT(gm_model_evaluate(model, param, &loss, NULL) == GM_OK);
    n_failures += EXPECT(loss > 0.07 && loss < 0.1); /* 1 / 12 of the noise */
    gm_sgd_close(&sgd);
    gm_model_close(&model);
    return n_failures;
}

/* A model whose data set is made, not shipped. */
static int images_are_made(void)
{
    struct gm_model *model;

    if (gm_model_open(&model, "resnet8", NULL, 1, 3) != GM_OK)
        return EXPECT(!"resnet8 opens");
    const int n_failures = EXPECT(gm_model_n_samples(model) == 10000);
    gm_model_close(&model);
    return n_failures;
}

/* A note that cannot be written is an error, not a lost line. */
static int full_disk_is_an_error(struct gm_job *job)
{
    const char *temporary = getenv("TMPDIR");
    char folder[4096], before[4096], name[64];
    const float param = 1;
    int n_failures = 0;

    snprintf(folder, sizeof folder, "%s/gradmark-note.XXXXXX", temporary ? temporary : "/tmp");
    snprintf(name, sizeof name, "path_%d.csv", gm_rank(job));
    if (!getcwd(before, sizeof before) || !mkdtemp(folder) || chdir(folder) != 0)
        return EXPECT(!"a folder of its own");
    n_failures += EXPECT(symlink("/dev/full", name) == 0);
    n_failures += EXPECT(gm_note(job, 0, 0.5f, 1.0, &param, 1) == GM_IO && strstr(gm_message(), name));
    n_failures += EXPECT(unlink(name) == 0);
    return n_failures + EXPECT(chdir(before) == 0 && rmdir(folder) == 0);
}

/* GRADMARK_TIMEOUT_S that is none is refused, and no job is left open by that. */
static int limits(void)
{
    static const char *const wrong[] = { "0", "-1", "86401", "1.5", "ten", "99999999999999999999" };
    struct gm_job *job = NULL;
    int n_failures = 0;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        n_failures += EXPECT(setenv("GRADMARK_TIMEOUT_S", wrong[i], 1) == 0);
        n_failures += EXPECT(gm_init(&job, NULL) == GM_INVAL && !job && strstr(gm_message(), wrong[i]));
    }
    return n_failures + EXPECT(unsetenv("GRADMARK_TIMEOUT_S") == 0);
}

/* --- processes of gradmark launch --------------------------------------------------------------------------------- */

static int is_launched(void)
{
    return getenv("GRADMARK_GANG_RANK") != NULL;
}

/* Of such a process, before and after its job. */
static int one_job(int is_before)
{
    struct gm_job *job = NULL;
    int no_communicator = 0, n_failures = 0;

    if (!is_launched())
        return 0;
    if (is_before)
        n_failures += EXPECT(gm_init(&job, &no_communicator) == GM_INVAL && strstr(gm_message(), "pass NULL"));
    else
        n_failures += EXPECT(gm_init(&job, NULL) == GM_INVAL && strstr(gm_message(), "has one job"));
    return n_failures + EXPECT(!job);
}

static void pause_ms(long ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    (void)nanosleep(&time, NULL);
}

/* Rank 1 sums another length than the others: every rank hears of it, and the library ends no process, however long it
 * continues (lib.I1): a rank of train is ended after 2.5 s. */
static int one_fails(void)
{
    static float x[4096];
    struct gm_job *job = NULL;
    int n_failures = EXPECT(gm_init(&job, NULL) == GM_OK && gm_size(job) == 3);
    const int found = gm_allreduce(job, x, gm_rank(job) == 1 ? 4000 : 4096, GM_SUM);

    n_failures += EXPECT(found == GM_MISMATCH || found == GM_PEER);
    n_failures += EXPECT(gm_barrier(job) == GM_PEER && gm_broadcast(job, x, 1, 0) == GM_PEER);
    pause_ms(3500);
    n_failures += EXPECT(gm_finalize(&job) == GM_MISMATCH && strstr(gm_message(), "rank ") && !job);
    return n_failures + one_job(0);
}

/* Rank `larger` sums more than the other ranks: every rank hears of it at once. Of 1 float and 2 the empty chunks are
 * others, of 300000 and 600000 the segments. */
static int sizes_differ(int larger, size_t less, size_t more)
{
    static float x[600000];
    struct gm_job *job = NULL;
    char words[64];
    int n_failures = EXPECT(gm_init(&job, NULL) == GM_OK);
    const size_t n = gm_rank(job) == larger ? more : less;
    const int found = gm_allreduce(job, x, n, GM_SUM);

    snprintf(words, sizeof words, "this rank called gm_allreduce of %zu float", n);
    n_failures += EXPECT(found == GM_PEER || (found == GM_MISMATCH && strstr(gm_message(), words)));
    n_failures += EXPECT(gm_finalize(&job) == GM_MISMATCH && strstr(gm_message(), "this rank called gm_allreduce of "));
    return n_failures;
}

/* The last rank has one call less. */
static int one_ends_early(void)
{
    struct gm_job *job = NULL;
    float x = 1;
    int n_failures = EXPECT(gm_init(&job, NULL) == GM_OK && gm_allreduce(job, &x, 1, GM_SUM) == GM_OK);

    /* Who leaves it knows that no rank is still in the sum. The later end may reach a rank that is still in it. */
    (void)gm_barrier(job);
    if (gm_rank(job) < gm_size(job) - 1) {
        const int found = gm_allreduce(job, &x, 1, GM_SUM);
        n_failures += EXPECT(found == GM_MISMATCH || found == GM_PEER);
    }
    return n_failures + EXPECT(gm_finalize(&job) == GM_MISMATCH && strstr(gm_message(), "gm_finalize"));
}

/* GRADMARK_TIMEOUT_S is 30: all ranks come to the first barrier in time, and the last one to no other before the others
 * have given up. */
static int one_is_late(void)
{
    struct gm_job *job = NULL;
    float x = 1;
    int n_failures = EXPECT(gm_init(&job, NULL) == GM_OK && gm_barrier(job) == GM_OK);

    if (gm_rank(job) < gm_size(job) - 1) {
        const int found = gm_barrier(job);
        n_failures += EXPECT(found == GM_TIMEOUT || found == GM_PEER);
    }
    while (gm_broadcast(job, &x, 1, -1) == GM_INVAL) /* is not sent; GM_PEER: the job has failed */
        pause_ms(1);
    n_failures += EXPECT(gm_barrier(job) == GM_PEER);
    n_failures += EXPECT(gm_finalize(&job) == GM_TIMEOUT && strstr(gm_message(), "within 30 s"));
    return n_failures;
}

/* The last rank's process ends without a job. */
static int one_is_absent(void)
{
    struct gm_job *job = NULL;
    const char *rank = getenv("GRADMARK_GANG_RANK");

    if (strcmp(rank, "2") == 0)
        return 0;
    const int found = gm_init(&job, NULL);
    /* rank 0 may have given up and ended before rank 1 hears of rank 2 */
    const char *names = strcmp(rank, "0") == 0 ? "rank 2" : "rank ";
    return EXPECT((found == GM_TIMEOUT || found == GM_PEER) && !job && strstr(gm_message(), names));
}

static int run_case(const char *name)
{
    if (strncmp(name, "short", 5) == 0)
        return sizes_differ(name[5] - '0', 1, 2);
    if (strncmp(name, "long", 4) == 0)
        return sizes_differ(name[4] - '0', 300000, 600000);
    if (strcmp(name, "early") == 0)
        return one_ends_early();
    if (strcmp(name, "failure") == 0)
        return one_fails();
    if (strcmp(name, "late") == 0)
        return one_is_late();
    return strcmp(name, "absent") == 0 ? one_is_absent() : 1;
}

int main(int argc, char **argv)
{
    struct gm_job *job = NULL;
    int n_failures;

    if (argc == 2)
        return is_launched() && run_case(argv[1]) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    n_failures = limits() + one_job(1);
    n_failures += EXPECT(gm_init(&job, NULL) == GM_OK);
    if (!job)
        return EXIT_FAILURE;
    n_failures += EXPECT(gm_local_size(job) == gm_size(job) && gm_local_rank(job) == gm_rank(job));
    n_failures += EXPECT(strcmp(gm_error_name(GM_PEER), "GM_PEER") == 0 && strlen(gm_version()) >= 5);
    n_failures += refusals(job);
    n_failures += collectives(job);
    n_failures += line_is_found(job);
    n_failures += images_are_made();
    n_failures += full_disk_is_an_error(job);
    n_failures += big_batch(job, "linear", 0.3f, 0.5f, 0);
    n_failures += big_batch(job, "lenet", 0.02f, 0.9f, 0);
    if (gm_size(job) > 1) {
        n_failures += big_batch(job, "linear", 0.3f, 0.5f, 1);
        n_failures += big_batch(job, "lenet", 0.02f, 0.9f, 1);
    }
    for (int n_servers = 0; n_servers < (gm_size(job) > 1 ? 2 : 1); n_servers++) {
        n_failures += rules(job, GM_ADAM, n_servers);
        n_failures += rules(job, GM_ADAGRAD, n_servers);
    }
    n_failures += collectives(job);
    float sum = (float)n_failures;
    n_failures += EXPECT(gm_allreduce(job, &sum, 1, GM_SUM) == GM_OK);
    n_failures += EXPECT(gm_finalize(&job) == GM_OK && !job);
    n_failures += one_job(0);
    return n_failures > 0 || sum > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
