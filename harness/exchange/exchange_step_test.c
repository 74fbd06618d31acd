/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_step_test.c - which chunks an exchange posts and completes when, by a mode that writes it down: as many at
 * once as are wanted and the mode allows, in the order of the queue, completed in that order.
 *
 * Five segments are five chunks; 0 is the last segment. Of chunk k the mode makes the parameters 100 (step + 1) + k.
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/exchange/exchange.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_CHUNKS = 5, N_PARAMS = 10, MOST_SERVERS = 3, N_STEPS = 2, TEXT_BYTES = 512, NOWHERE = 1000 };

static const struct segment layout[N_CHUNKS] = { { 0, 2 }, { 2, 3 }, { 5, 1 }, { 6, 3 }, { 9, 1 } };

struct plan {
    struct exchange_opts opts;
    int most_in_flight;              /* of the mode; opts has what is wanted */
    int server_more;                 /* so many more the server wants */
    int n_servers;                   /* of opts.spreads, in whose one bucket chunk k has parameters 2k and 2k + 1; else
                                        there is one */
    int fails_at_post, fails_at_end; /* which of all calls; NOWHERE: none */
    char text[TEXT_BYTES];           /* out: "+k" for a post, "-k" for an end, of the last step */
    enum rc result;                  /* out: of the worker */
    int n_open;                      /* out: posted and not ended when the mode was closed */
    uint64_t n_planned_messages;     /* out: transport_plan.most_messages */
    int n_failures;
};

struct noted { /* the mode */
    struct sync base;
    struct plan *plan;
    size_t posted[N_CHUNKS * N_STEPS];
    unsigned push_pull;
    int n_posted, n_ended;
};

static struct plan *plan_of_mode; /* of the run that is made */

/* exchange.E12 */
static int most_at_once(const struct plan *p)
{
    const int wanted = p->opts.n_in_flight > 0 ? p->opts.n_in_flight : 1;

    return wanted < p->most_in_flight ? wanted : p->most_in_flight;
}

static void write_down(struct noted *n, char sign, size_t k)
{
    char *text = n->plan->text;

    (void)snprintf(text + strlen(text), TEXT_BYTES - strlen(text), "%s%c%zu", text[0] ? " " : "", sign, k);
}

static enum rc noted_open(struct sync **out, const struct sync_env *env)
{
    static struct noted of_rank[1 + MOST_SERVERS];
    struct noted *n = &of_rank[env->world->rank];

    *n = (struct noted){ .base.env = *env, .plan = plan_of_mode };
    if (env->world->rank == 0)
        n->plan->n_failures += env->n_in_flight != most_at_once(n->plan);
    *out = &n->base;
    return RC_OK;
}

static enum rc noted_post(struct sync *s, const struct chunk_work *work)
{
    struct noted *n = (struct noted *)s;

    if (n->n_posted == n->plan->fails_at_post)
        return rc_raise(RC_PEER, "post %d fails", n->n_posted);
    if (n->n_posted % N_CHUNKS == 0)
        n->plan->text[0] = '\0';
    n->plan->n_failures += n->n_posted - n->n_ended >= most_at_once(n->plan);
    n->posted[n->n_posted++] = work->k;
    n->push_pull = work->push_pull;
    write_down(n, '+', work->k);
    return RC_OK;
}

static enum rc noted_complete(struct sync *s, float *param, struct chunk_cost *out)
{
    struct noted *n = (struct noted *)s;
    const size_t k = n->posted[n->n_ended];
    const struct range chunk = s->env.buckets->chunk[k];

    n->plan->n_failures += n->n_ended >= n->n_posted;
    if (n->n_ended == n->plan->fails_at_end)
        return rc_raise(RC_PEER, "end %d fails", n->n_ended);
    const int step = n->n_ended++ / N_CHUNKS;
    for (size_t i = 0; i < chunk.n_elems && n->push_pull & EXCHANGE_PULL; i++)
        param[chunk.offset_elems + i] = (float)(100 * (step + 1) + (int)k);
    out->staleness_count = (uint32_t)k;
    write_down(n, '-', k);
    return RC_OK;
}

static enum rc noted_final(struct sync *s, float *param, struct optimizer_state *state)
{
    (void)s, (void)param, (void)state;
    return RC_OK;
}

static void noted_close(struct sync **s)
{
    struct noted *n = (struct noted *)*s;

    if (n->base.env.world->rank == 0)
        n->plan->n_open = n->n_posted - n->n_ended;
    *s = NULL;
}

static const struct server_mode noted_servers = { .post = noted_post,
                                                  .complete = noted_complete,
                                                  .final = noted_final };

static const struct sync_mode noted_mode = { .module.name = "noted",
                                             .module.caps = MODE_SERVERS | MODE_EXCHANGES,
                                             .exchange_name = "note",
                                             .open = noted_open,
                                             .close = noted_close };

static void check_params(struct plan *p, const float *param, int step)
{
    for (int i = 0; p->opts.spreads && i < N_PARAMS; i++)
        p->n_failures += param[i] != (float)(100 * (step + 1) + i / 2);
    for (int g = 0; !p->opts.spreads && g < N_CHUNKS; g++)
        for (size_t i = 0; i < layout[g].n_elems; i++)
            /* exchange.E2 */
            p->n_failures += param[layout[g].offset_elems + i] != (float)(100 * (step + 1) + N_CHUNKS - 1 - g);
}

static enum rc work(struct plan *p, struct world *w, struct exchange *x, struct compute *c)
{
    enum rc rc = RC_OK;

    for (int step = 0; step < N_STEPS; step++) {
        uint64_t now_ns = world_now_ns(w);
        TRY(exchange_begin(x, (uint64_t)step, 1));
        TRY(compute_sync(c));
        for (size_t g = N_CHUNKS; g-- > 0 && exchange_wants_segments(x);)
            TRY(exchange_submit(x, &layout[g], 0));
        if (!exchange_wants_segments(x))
            TRY(exchange_submit(x, NULL, now_ns));
        for (size_t g = 0; g < N_CHUNKS && exchange_overlaps(x); g++)
            TRY(exchange_await(x, layout[g]));
        if (exchange_overlaps(x)) /* waits do not overlap */
            now_ns = world_now_ns(w);
        TRY(exchange_await_all(x, &now_ns));
        check_params(p, exchange_param(x), step);
        p->n_failures += exchange_cost(x).staleness_count != N_CHUNKS - 1;
    }
    TRY(exchange_final(x, NULL));
out:
    return rc;
}

static enum rc note_plan(struct transport **out, struct world *w, const struct transport_plan *plan)
{
    const struct transport_ops *inproc = NULL;
    enum rc rc;

    if (w->rank == 0)
        plan_of_mode->n_planned_messages = plan->most_messages;
    TRY(transport_find(&inproc, "inproc"));
    TRY(inproc->open(out, w));
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    const struct initial_state from = { .n_running = 0 };
    const struct transport_ops *inproc = NULL;
    struct transport_ops transport;
    struct plan *p = arg;
    struct exchange_opts opts = p->opts;
    struct server_mode servers = noted_servers;
    struct sync_mode mode = noted_mode;
    struct compute *c = NULL;
    struct exchange *x = NULL;
    enum rc rc;

    servers.most_in_flight = servers.usual_in_flight = p->most_in_flight;
    mode.servers = &servers;
    TRY(transport_find(&inproc, "inproc"));
    transport = *inproc;
    transport.open_planned = note_plan;
    opts.n_in_flight += w->rank == 1 ? p->server_more : 0;
    TRY(compute_open(&c, &compute_cpu, &(struct compute_env){ .n_threads = 1 }));
    const struct exchange_env env = { .world = w,
                                      .compute = c,
                                      .mode = &mode,
                                      .transport = &transport,
                                      .segment = layout,
                                      .n_segments = N_CHUNKS,
                                      .n_workers = 1,
                                      .n_servers = w->n_ranks - 1,
                                      .opts = opts,
                                      .optimizer = optimizer_sgd(0, 0),
                                      .n_steps = N_STEPS };
    TRY(exchange_open(&x, &env));
    TRY(exchange_start(x, &from));
    if (w->rank == 0)
        p->result = work(p, w, x, c);
out:
    exchange_close(&x);
    compute_close(&c);
    return rc;
}

static void make(struct plan *p)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .has_tasks = true };

    p->opts.buckets = p->opts.spreads ? (struct bucket_opts){ .partition_bytes = 2 * sizeof(float) }
                                      : (struct bucket_opts){ .bucket_bytes = 4 }; /* a bucket of each segment */
    plan_of_mode = p;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    const enum rc rc = world_run(threads, &opts, 1 + (p->n_servers > 0 ? p->n_servers : 1), body, p);
    if (rc != RC_OK && p->result == RC_OK) /* else it may be that of the communicator, which ends the rank, too */
        fail_msg("%s", rc_message());
    assert_int_equal(p->n_failures, 0);
}

UNIT_TEST(inline_as_many_as_wanted_and_the_mode_lets)
{
    static const struct {
        int most_in_flight, n_in_flight;
        bool priority;
        const char *text;
    } cases[] = {
        { 8, 0, false, "+0 -0 +1 -1 +2 -2 +3 -3 +4 -4" }, { 8, 1, false, "+0 -0 +1 -1 +2 -2 +3 -3 +4 -4" },
        { 1, 8, false, "+0 -0 +1 -1 +2 -2 +3 -3 +4 -4" }, { 8, 2, false, "+0 +1 -0 +2 -1 +3 -2 +4 -3 -4" },
        { 2, 3, false, "+0 +1 -0 +2 -1 +3 -2 +4 -3 -4" }, { 3, 3, false, "+0 +1 +2 -0 +3 -1 +4 -2 -3 -4" },
        { 8, 8, false, "+0 +1 +2 +3 +4 -0 -1 -2 -3 -4" }, { 8, 1, true, "+4 -4 +3 -3 +2 -2 +1 -1 +0 -0" },
        { 8, 3, true, "+4 +3 +2 -4 +1 -3 +0 -2 -1 -0" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan p = { .opts = { .priority = cases[i].priority, .n_in_flight = cases[i].n_in_flight },
                          .most_in_flight = cases[i].most_in_flight,
                          .fails_at_post = NOWHERE,
                          .fails_at_end = NOWHERE };
        make(&p);
        assert_int_equal(p.result, RC_OK);
        assert_string_equal(p.text, cases[i].text);
        assert_int_equal(p.n_open, 0);
    }
}

/* Of five chunks the first ranges of servers have one more; each server has a chunk before one has a second one. */
UNIT_TEST(neighbours_go_to_different_servers)
{
    static const char *const text[] = { "+0 -0 +1 -1 +2 -2 +3 -3 +4 -4", "+0 -0 +3 -3 +1 -1 +4 -4 +2 -2",
                                        "+0 -0 +2 -2 +4 -4 +1 -1 +3 -3" };

    for (int n_servers = 1; n_servers <= MOST_SERVERS; n_servers++) {
        struct plan p = { .opts.spreads = true,
                          .n_servers = n_servers,
                          .most_in_flight = 8,
                          .fails_at_post = NOWHERE,
                          .fails_at_end = NOWHERE };
        make(&p);
        assert_int_equal(p.result, RC_OK);
        assert_string_equal(p.text, text[n_servers - 1]);
    }
}

/* When the communicator finds a chunk is a matter of luck: that it holds the limit, and the order, is not. */
UNIT_TEST(overlapped_no_more_than_are_wanted)
{
    for (int most = 1; most <= 3; most++) {
        struct plan p = { .opts = { .overlap = true, .n_in_flight = most },
                          .most_in_flight = 8,
                          .fails_at_post = NOWHERE,
                          .fails_at_end = NOWHERE };
        size_t n_posted = 0, n_ended = 0;
        make(&p);
        assert_int_equal(p.result, RC_OK);
        for (const char *at = p.text; *at; at++) {
            n_posted += *at == '+' ? (assert_int_equal(at[1], '0' + (int)n_posted), 1u) : 0;
            n_ended += *at == '-' ? (assert_int_equal(at[1], '0' + (int)n_ended), 1u) : 0;
        }
        assert_int_equal(n_posted, N_CHUNKS);
        assert_int_equal(n_ended, N_CHUNKS);
    }
}

/* The error of the mode is that of the wait, and nothing is posted or ended behind it. */
UNIT_TEST(an_error_ends_it)
{
    static const struct {
        int post, end;
        const char *text;
    } cases[] = {
        { 2, NOWHERE, "+0 +1" },          /* inline: of the first step */
        { NOWHERE, 1, "+0 +1 +2 -0 +3" }, /* likewise */
        { 5 + 4, NOWHERE, "+0 +1 +2 -0 +3 -1" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int overlaps = 0; overlaps < 2; overlaps++) {
            struct plan p = { .opts = { .overlap = overlaps == 1, .n_in_flight = 3 },
                              .most_in_flight = 3,
                              .fails_at_post = cases[i].post,
                              .fails_at_end = cases[i].end };
            make(&p);
            assert_int_equal(p.result, RC_PEER);
            if (!overlaps)
                assert_string_equal(p.text, cases[i].text);
        }
}

/* exchange.E10: a step that neither pushes nor pulls posts nothing; the last one pushes, and pulls no more. */
UNIT_TEST(steps_without_messages_post_nothing)
{
    struct plan p = { .opts = { .periods = { 3, 3 }, .n_in_flight = 3 },
                      .most_in_flight = 3,
                      .fails_at_post = NOWHERE,
                      .fails_at_end = NOWHERE };

    p.opts.buckets.bucket_bytes = 4;
    plan_of_mode = &p;
    const struct world_ops *threads = NULL;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &(struct world_opts){ .has_tasks = true }, 2, body, &p), RC_OK);
    assert_string_equal(p.text, "+0 +1 +2 -0 +3 -1 +4 -2 -3 -4");
    assert_int_equal(p.n_open, 0);
}

/* T13: with replicas a server forwards what it has of each worker, its loss too, and where there are two each tells the
 * other of as many. */
UNIT_TEST(what_is_under_way_is_planned_T13)
{
    static const struct {
        int n_in_flight, n_replicas;
        uint64_t n_more;
    } cases[] = { { 1, 0, 0 }, { 3, 0, 0 }, { 1, 1, 2 * 2 }, { 3, 1, 2 * 4 }, { 9, 1, 2 * 9 } };
    uint64_t n_others = 0; /* without replicas */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan p = { .opts = { .n_in_flight = cases[i].n_in_flight, .n_replicas = cases[i].n_replicas },
                          .most_in_flight = 8,
                          .fails_at_post = NOWHERE,
                          .fails_at_end = NOWHERE };
        make(&p);
        assert_int_equal(p.result, RC_OK);
        n_others = i == 0 ? p.n_planned_messages : n_others;
        assert_true(n_others >= 2 * 8); /* requests to a server that has two slices */
        assert_int_equal(p.n_planned_messages, n_others + cases[i].n_more);
    }
}

UNIT_TEST(ranks_have_to_agree_E3)
{
    struct plan p = { .opts = { .n_in_flight = 2 }, .most_in_flight = 8, .server_more = 1 };
    const struct world_ops *threads = NULL;

    plan_of_mode = &p;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &(struct world_opts){ .has_tasks = true }, 2, body, &p), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "number of chunks under way"));
}

UNIT_MAIN("exchange_step")
