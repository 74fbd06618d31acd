/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_engine.c - SimGrid under the sim world: the only file that calls it.
 *
 * A rank waits on a semaphore of its own. Bytes on their way are an actor's blocking transfer: a
 * courier sleeps through it, hands the parcel over and waits for the next one. Couriers are
 * daemons, so a run ends with its last rank, whatever is still on its way.
 *
 * SimGrid reports wrong input by C++ exceptions or by ending the process; so everything is checked
 * before it is called. Ending an actor early (sim_die, and couriers at the end) unwinds its stack
 * through this file: it is compiled with -fexceptions.
 */
#include "harness/world/sim/sim_engine.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cluster/cluster.h"

#ifndef GRADMARK_SIM_THREADS
#define GRADMARK_SIM_THREADS 0 /* 1: each actor a thread, which sanitizers can follow */
#endif

enum {
    RANK_STACK_BYTES = (GRADMARK_SIM_THREADS ? 8 : 1) << 20,
    HELPER_STACK_BYTES = (GRADMARK_SIM_THREADS ? 1024 : 128) << 10,
};

struct sim_rank {
    struct engine *engine;
    int number;
    sg_host_t host;
    sg_sem_t bell;        /* one token for each time `asleep` was taken back by another actor */
    bool asleep;          /* in sim_wait(), nobody rang yet */
    bool expired;         /* ... rung by the timekeeper */
    uint64_t deadline_ns; /* of the sleep; SIM_NEVER: none */
    bool gone;
};

struct courier {
    struct engine *engine;
    sg_host_t from, to;
    uint64_t n_bytes;
    struct sim_parcel *parcel;
    sg_sem_t go;
    struct courier *next_idle, *next_hired;
};

struct engine {
    int n_ranks;
    struct sim_rank *rank;
    sim_body_fn *body;
    void *arg;
    int n_live;        /* ranks not gone */
    int n_stuck;       /* of these: asleep for ever */
    int n_flying;      /* parcels */
    uint64_t n_sent;   /* parcels, those that arrived included */
    sg_sem_t tick;     /* the timekeeper waits on it */
    uint64_t alarm_ns; /* until this time; SIM_NEVER: until rung */
    struct courier *idle, *hired;
    struct sim_owned *owned;
    bool failed, deadlocked;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
};

int sim_number(const struct sim_rank *r)
{
    return r->number;
}

struct sim_rank *sim_rank_at(const struct sim_rank *any, int number)
{
    assert(number >= 0 && number < any->engine->n_ranks);
    return &any->engine->rank[number];
}

uint64_t sim_now_ns(void)
{
    return (uint64_t)llround(simgrid_get_clock() * 1e9);
}

void sim_pass(double seconds)
{
    assert(isfinite(seconds));
    if (seconds > 0)
        sg_actor_sleep_for(seconds);
}

bool sim_failed(const struct sim_rank *self)
{
    return self->engine->failed;
}

bool sim_gone(const struct sim_rank *r)
{
    return r->gone;
}

enum rc sim_check(const struct sim_rank *self)
{
    const struct engine *e = self->engine;

    if (!e->failed)
        return RC_OK;
    if (e->deadlocked)
        return rc_raise(RC_TIMEOUT, "%s", e->message);
    return rc_raise(RC_PEER, "rank %d failed: %s", e->failed_rank, e->message);
}

void sim_wake(struct sim_rank *r)
{
    if (!r->asleep)
        return;
    r->asleep = false;
    r->engine->n_stuck -= r->deadline_ns == SIM_NEVER;
    sg_sem_release(r->bell); /* other actors run here (G1) */
}

static void fail(struct engine *e, int rank, enum rc why, const char *message)
{
    if (e->failed)
        return;
    e->failed = true; /* all fields before the first wake: others run there */
    e->failed_rank = rank;
    e->why = why;
    snprintf(e->message, sizeof e->message, "%s", message);
    for (int r = 0; r < e->n_ranks; r++)
        sim_wake(&e->rank[r]);
}

void sim_fail(struct sim_rank *self, enum rc why, const char *message)
{
    fail(self->engine, self->number, why, message);
}

/* G3 */
static void break_deadlock(struct engine *e)
{
    int first = 0;

    if (e->failed || e->n_live == 0 || e->n_stuck < e->n_live || e->n_flying > 0)
        return;
    while (!e->rank[first].asleep)
        first++;
    e->deadlocked = true;
    fail(e, first, RC_TIMEOUT, "deadlock: every rank waits for ever and no message is on its way");
}

bool sim_wait(struct sim_rank *self, uint64_t deadline_ns)
{
    struct engine *e = self->engine;

    if (e->failed)
        return true;
    if (deadline_ns <= sim_now_ns())
        return false;
    self->asleep = true;
    self->expired = false;
    self->deadline_ns = deadline_ns;
    if (deadline_ns == SIM_NEVER) {
        e->n_stuck++;
        break_deadlock(e); /* leaves a token here when it was one */
    } else if (deadline_ns < e->alarm_ns) {
        e->alarm_ns = deadline_ns;
        sg_sem_release(e->tick);
    }
    sg_sem_acquire(self->bell);
    return !self->expired;
}

static uint64_t next_deadline_ns(const struct engine *e)
{
    uint64_t next_ns = SIM_NEVER;

    for (int r = 0; r < e->n_ranks; r++)
        if (e->rank[r].asleep && e->rank[r].deadline_ns < next_ns)
            next_ns = e->rank[r].deadline_ns;
    return next_ns;
}

static void ring_expired(struct engine *e, uint64_t now_ns)
{
    for (int r = 0; r < e->n_ranks; r++)
        if (e->rank[r].asleep && e->rank[r].deadline_ns <= now_ns) {
            e->rank[r].expired = true;
            sim_wake(&e->rank[r]);
        }
}

/* One timer for all deadlines: few are ever reached, and a timer each would cost a fifth of the speed. */
static void timekeeper_main(int argc, char **argv)
{
    struct engine *e = sg_actor_get_data(sg_actor_self());
    uint64_t now_ns = 0;

    (void)argc;
    (void)argv;
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        ring_expired(e, now_ns); /* others run here and set deadlines: look for the next one afterwards */
        e->alarm_ns = next_deadline_ns(e);
        const uint64_t alarm_ns = e->alarm_ns;
        const double left_s = (double)alarm_ns * 1e-9 - simgrid_get_clock();
        if (alarm_ns == SIM_NEVER)
            sg_sem_acquire(e->tick);
        else if (left_s <= 0 || sg_sem_acquire_timeout(e->tick, left_s)) {
            now_ns = alarm_ns; /* whatever the clock's last digit says */
            continue;
        }
        now_ns = sim_now_ns();
    }
}

void sim_own(struct sim_rank *any, struct sim_owned *o)
{
    struct engine *e = any->engine;

    o->previous = NULL;
    o->next = e->owned;
    if (o->next)
        o->next->previous = o;
    e->owned = o;
}

void sim_disown(struct sim_rank *any, struct sim_owned *o)
{
    if (o->next)
        o->next->previous = o->previous;
    if (o->previous)
        o->previous->next = o->next;
    else
        any->engine->owned = o->next;
}

static void start_actor(const char *name, sg_host_t host, unsigned n_stack_bytes, xbt_main_func_t body, void *data)
{
    sg_actor_t actor = sg_actor_init(name, host);

    sg_actor_set_stacksize(actor, n_stack_bytes);
    sg_actor_set_data(actor, data);
    sg_actor_start(actor, body, 0, NULL);
}

static void courier_main(int argc, char **argv)
{
    struct courier *c = sg_actor_get_data(sg_actor_self());
    struct engine *e = c->engine;

    (void)argc;
    (void)argv;
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        sg_host_sendto(c->from, c->to, (double)c->n_bytes);
        struct sim_parcel *parcel = c->parcel;
        e->n_flying--;
        c->next_idle = e->idle;
        e->idle = c;
        parcel->arrived(parcel);
        break_deadlock(e);
        sg_sem_acquire(c->go);
    }
}

static enum rc hire(struct courier **out, struct engine *e)
{
    struct courier *c = calloc(1, sizeof *c);

    if (!c)
        return rc_raise(RC_NOMEM, "no memory for one more message on its way");
    c->engine = e;
    c->go = sg_sem_init(0);
    c->next_hired = e->hired;
    e->hired = c;
    *out = c;
    return RC_OK;
}

enum rc sim_send(struct sim_rank *self, struct sim_rank *to, uint64_t n_bytes, struct sim_parcel *p)
{
    struct engine *e = self->engine;
    struct courier *c = e->idle;
    const bool is_new = c == NULL;
    enum rc rc = RC_OK;

    if (is_new)
        TRY(hire(&c, e));
    else
        e->idle = c->next_idle;
    c->from = self->host;
    c->to = to->host;
    c->n_bytes = n_bytes;
    c->parcel = p;
    e->n_flying++;
    e->n_sent++;
    if (is_new)
        start_actor("courier", self->host, HELPER_STACK_BYTES, courier_main, c);
    else
        sg_sem_release(c->go);
out:
    return rc;
}

static void leave(struct sim_rank *self)
{
    self->gone = true;
    self->engine->n_live--;
    break_deadlock(self->engine); /* others may have waited for this one */
}

void sim_die(struct sim_rank *self)
{
    self->gone = true; /* before others run in sim_fail() */
    self->engine->n_live--;
    sim_fail(self, RC_PEER, "ended before its work was done");
    sg_actor_exit();
}

static void rank_main(int argc, char **argv)
{
    struct sim_rank *self = sg_actor_get_data(sg_actor_self());
    const enum rc rc = self->engine->body(self, self->engine->arg);

    (void)argc;
    (void)argv;
    /* All ranks share one record of the last error: read it before another rank runs. */
    if (rc != RC_OK)
        sim_fail(self, rc, rc_message()[0] ? rc_message() : rc_text(rc));
    leave(self);
}

/* Every host that will have a rank, behind one switch; a route crosses two links, so each has half the
 * latency. Flows between ranks of one host do not slow each other. */
static enum rc write_platform(FILE *f, const struct cluster *c, int n_hosts)
{
    fprintf(f,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "<cluster id=\"cluster\" prefix=\"host-\" suffix=\"\" radical=\"0-%d\" speed=\"1f\"\n"
            " bw=\"%.17gBps\" lat=\"%.17gs\" sharing_policy=\"SPLITDUPLEX\"\n"
            " loopback_bw=\"%.17gBps\" loopback_lat=\"%.17gs\"/>\n</platform>\n",
            n_hosts - 1, c->link_bytes_per_s, c->link_latency_s / 2, c->local_bytes_per_s, c->local_latency_s);
    return fflush(f) == 0 && !ferror(f) ? RC_OK : rc_raise(RC_IO, "a temporary file cannot be written");
}

/* SimGrid takes a platform only from a file, by name. */
static enum rc load_platform(const struct cluster *c, int n_hosts)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    FILE *f = NULL;
    int fd = -1;
    enum rc rc = RC_OK;

    snprintf(path, sizeof path, "%s/gradmark-XXXXXX.xml", folder && *folder ? folder : "/tmp");
    fd = mkstemps(path, (int)strlen(".xml"));
    if (fd < 0 || !(f = fdopen(fd, "w")))
        FAIL(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
    TRY(write_platform(f, c, n_hosts));
    simgrid_load_platform(path);
out:
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    if (fd >= 0)
        unlink(path);
    return rc;
}

/* Costs as in G2: plain latency and rate, no model of TCP, no share taken by acknowledgements, flows
 * equal whatever their latency; times far finer than 1 ns. */
static void start_simgrid(void)
{
    char *argv[] = {
        "gradmark",
        "--log=root.threshold:critical",
        "--cfg=network/model:CM02",
        "--cfg=network/latency-factor:1",
        "--cfg=network/bandwidth-factor:1",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/weight-S:0",
        "--cfg=network/crosstraffic:0",
        "--cfg=surf/precision:1e-12",
        "--cfg=maxmin/precision:1e-12",
#if GRADMARK_SIM_THREADS
        "--cfg=contexts/factory:thread",
#endif
        NULL,
    };
    int argc = (int)(sizeof argv / sizeof *argv) - 1;

    simgrid_init(&argc, argv);
}

static void start_actors(struct engine *e, int n_ranks_per_host)
{
    for (int r = 0; r < e->n_ranks; r++) {
        struct sim_rank *rank = &e->rank[r];
        char name[32];
        snprintf(name, sizeof name, "host-%d", r / n_ranks_per_host);
        *rank = (struct sim_rank){ .engine = e, .number = r, .host = sg_host_by_name(name), .bell = sg_sem_init(0) };
        snprintf(name, sizeof name, "rank-%d", r);
        start_actor(name, rank->host, RANK_STACK_BYTES, rank_main, rank);
    }
    e->tick = sg_sem_init(0);
    e->alarm_ns = SIM_NEVER;
    start_actor("timekeeper", e->rank[0].host, HELPER_STACK_BYTES, timekeeper_main, e);
}

static void end_engine(struct engine *e)
{
    while (e->owned) {
        struct sim_owned *o = e->owned;
        e->owned = o->next;
        o->destroy(o);
    }
    while (e->hired) {
        struct courier *c = e->hired;
        e->hired = c->next_hired;
        sg_sem_destroy(c->go);
        free(c);
    }
    for (int r = 0; r < e->n_ranks; r++)
        if (e->rank[r].bell)
            sg_sem_destroy(e->rank[r].bell);
    if (e->tick)
        sg_sem_destroy(e->tick);
    free(e->rank);
}

enum rc sim_run(uint64_t *n_sent, const struct cluster *c, int n_ranks, sim_body_fn *body, void *arg)
{
    /* SimGrid's engine is global to the process, and so is whether it was used. */
    static atomic_flag used = ATOMIC_FLAG_INIT;
    struct engine e = { .n_ranks = n_ranks, .body = body, .arg = arg, .n_live = n_ranks };
    enum rc rc;

    TRY(cluster_check(c, n_ranks));
    if (n_ranks > SIM_RANKS_MAX)
        FAIL(RC_INVAL, "world sim: %d ranks; at most %d are possible", n_ranks, SIM_RANKS_MAX);
    if (atomic_flag_test_and_set(&used))
        FAIL(RC_UNSUPPORTED, "world sim: one run a process, and this process had it");
    e.rank = calloc((size_t)n_ranks, sizeof *e.rank);
    if (!e.rank)
        FAIL(RC_NOMEM, "world sim: no memory for %d ranks", n_ranks);
    start_simgrid();
    TRY(load_platform(c, (n_ranks - 1) / c->n_ranks_per_host + 1));
    start_actors(&e, c->n_ranks_per_host);
    simgrid_run();
    if (e.failed)
        rc = rc_raise(e.why, "rank %d: %s", e.failed_rank, e.message);
out:
    *n_sent = e.n_sent;
    if (e.rank)
        end_engine(&e);
    return rc;
}
