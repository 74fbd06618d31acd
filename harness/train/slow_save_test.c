/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_save_test.c chunks | CASE WORLD WAY - a checkpoint that takes long to write. The linker puts fwrite and fsync of
 * this file before the system's: a slow disk.
 *
 *   chunks   what is given to the disk at once is little, with a sign of life before each
 *   alive    so it is in a run: rank 0 ticks (world.P1) while it writes
 *   stopped  a signal that comes meanwhile ends the run behind it, with a checkpoint that is whole
 *   apart    train.L2: no step of a worker that waits for others contains it, nor one of worker 0
 *
 * WAY: how gradients are exchanged (ways). One training a process, as in sim and mpi. The exit code tells; in mpi that
 * of each rank.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/train/suite/train_kit.h"
#include "harness/world/stop.h"

enum { PAUSE_NS = 50000000 };
enum { EVERY = 3, STEPS = 8, N_SAVES = 2, MAX_CHUNK_BYTES = 1 << 16, MAX_UNSYNCED_BYTES = (1 << 24) + MAX_CHUNK_BYTES };

size_t __real_fwrite(const void *from, size_t n_bytes_each, size_t n, FILE *to);
size_t __wrap_fwrite(const void *from, size_t n_bytes_each, size_t n, FILE *to);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

static const struct way {
    const char *name, *options;
    bool is_synchronous;
} ways[] = {
    { "inline", "--mode allreduce --workers 3", true },
    { "overlap", "--mode allreduce --workers 3 --overlap on --bucket-bytes 8Ki", true },
    { "ps", "--mode ps --workers 2 --overlap on --bucket-bytes 8Ki", false },
    { "ps_alone", "--mode ps --workers 1 --overlap on --bucket-bytes 8Ki", false },
};

/* Of a test program: one run, in one process. */
static struct {
    const struct way *way;
    bool is_watched;
    struct world *world;              /* rank 0's; NULL: there is no run */
    uint64_t n_ticks, n_ticks_before; /* signs of life; as they were at the end of the last call */
    size_t n_unsynced_bytes, most_unsynced_bytes, most_chunk_bytes;
    int n_calls, n_silent_calls, n_saves;
    int stopped_save; /* this process is told to stop in the middle of this one, from 1 on; 0: of none */
    bool was_sync;    /* the last call */
    struct {
        uint64_t from_ns, to_ns;
    } save[N_SAVES + 1]; /* by the run's clock; [n_saves - 1]: this one */
} disk;

static uint64_t n_ticks(void)
{
    return disk.world && disk.world->peers ? atomic_load(&disk.world->peers->seat[disk.world->peers->own].n_ticks)
                                           : disk.n_ticks;
}

/* Between two calls there is a sign of life. */
static void begin_call(void)
{
    disk.n_calls++;
    disk.n_silent_calls += n_ticks() == disk.n_ticks_before;
}

static void end_call(bool is_sync)
{
    disk.n_ticks_before = n_ticks();
    disk.was_sync = is_sync;
}

static void begin_save(void)
{
    disk.save[disk.n_saves++].from_ns = disk.world ? world_now_ns(disk.world) : 0;
}

static void begin_write(size_t n_bytes)
{
    const bool is_digest = n_bytes == 32;

    if ((disk.was_sync || disk.n_calls == 0) && disk.n_saves <= N_SAVES)
        begin_save();
    if (!is_digest)
        begin_call();
    disk.n_unsynced_bytes += n_bytes;
    if (n_bytes > disk.most_chunk_bytes)
        disk.most_chunk_bytes = n_bytes;
    if (disk.n_unsynced_bytes > disk.most_unsynced_bytes)
        disk.most_unsynced_bytes = disk.n_unsynced_bytes;
}

size_t __wrap_fwrite(const void *from, size_t n_bytes_each, size_t n, FILE *to)
{
    if (!disk.is_watched)
        return __real_fwrite(from, n_bytes_each, n, to);
    begin_write(n_bytes_each * n);
    if (disk.n_saves == disk.stopped_save && disk.n_unsynced_bytes > sizeof(float) * 1000 && !stop_wanted())
        (void)raise(SIGTERM);
    const size_t n_written = disk.world ? __real_fwrite(from, n_bytes_each, n, to) : n; /* of `chunks`: not a byte */
    end_call(false);
    return n_written;
}

/* The second of two, of the folder behind the rename, is no part of the file. */
int __wrap_fsync(int fd)
{
    if (!disk.is_watched)
        return __real_fsync(fd);
    if (!disk.was_sync)
        begin_call();
    disk.n_unsynced_bytes = 0;
    if (disk.world) {
        world_pause(disk.world, PAUSE_NS);
        disk.save[disk.n_saves - 1].to_ns = world_now_ns(disk.world);
    }
    end_call(true);
    return 0;
}

static int expect(bool ok, const char *what)
{
    if (!ok)
        fprintf(stderr, "not so: %s (last error: %s)\n", what, rc_message());
    return !ok;
}
#define EXPECT(ok) expect((ok), #ok)

static void count_tick(void *n)
{
    ++*(uint64_t *)n;
}

/* --- cases --- */

static int check_chunks(const char *path)
{
    enum { N_PARAMS = 5000000 };
    struct checkpoint c = { .model = "lenet", .n_params = N_PARAMS, .optimizer = optimizer_sgd(0.9, 0) };
    int n_failures = 0;

    if (checkpoint_alloc(&c, true) != RC_OK)
        return 1;
    memset(c.param, 0, 2 * N_PARAMS * sizeof *c.param);
    disk.is_watched = true;
    n_failures += EXPECT(checkpoint_save(&c, path, count_tick, &disk.n_ticks) == RC_OK);
    disk.is_watched = false;
    n_failures += EXPECT(disk.most_chunk_bytes == MAX_CHUNK_BYTES);
    n_failures += EXPECT(disk.most_unsynced_bytes >= MAX_UNSYNCED_BYTES / 2);
    n_failures += EXPECT(disk.most_unsynced_bytes <= MAX_UNSYNCED_BYTES);
    n_failures += EXPECT(disk.n_calls >= 2 * N_PARAMS * 4 / MAX_CHUNK_BYTES);
    n_failures += EXPECT(disk.n_silent_calls == 0);
    checkpoint_free(&c);
    return n_failures;
}

static int check_alive(const struct train_result *r, const char *path)
{
    int n_failures = 0;

    (void)path;
    n_failures += EXPECT(r->saves.n_written == N_SAVES && disk.n_saves == N_SAVES);
    n_failures += EXPECT(disk.n_calls == N_SAVES * 4); /* of lenet: header, parameters, velocity, fsync */
    n_failures += EXPECT(disk.n_silent_calls == 0);
    return n_failures;
}

/* Worker w begins and ends each step before save k, or behind it. */
static int check_steps_apart(const struct train_result *r, int w, int k)
{
    const struct step_stamp *own = r->stamp + (size_t)w * r->n_steps;
    int n_failures = 0;

    for (size_t step = 0; step < r->n_steps; step++)
        if (own[step].end_ns > disk.save[k].from_ns && own[step].start_ns < disk.save[k].to_ns) {
            fprintf(stderr, "worker %d: save %d is in the time of step %zu\n", w, k, step);
            n_failures++;
        }
    return n_failures;
}

/* With overlap such a step has awaited its exchange, as without: it is not left to the time of the save. */
static int check_apart(const struct train_result *r, const char *path)
{
    const bool is_synchronous = disk.way->is_synchronous;
    int n_failures = 0;

    (void)path;
    n_failures += EXPECT((int)r->saves.n_written == disk.n_saves && disk.n_saves > 0);
    n_failures += EXPECT(r->saves.spent_s >= 1e-9 * PAUSE_NS * disk.n_saves);
    for (int k = 0; k < disk.n_saves; k++)
        for (int w = 0; w < (is_synchronous ? r->n_workers : 1); w++) {
            n_failures += check_steps_apart(r, w, k);
            const struct step_stamp *saved = r->stamp + (size_t)w * r->n_steps + EVERY * (k + 1) - 1;
            n_failures += EXPECT(saved->end_ns > saved->ready_ns);
        }
    return n_failures;
}

/* The step that begins next is the last, and saved, too (world.Z1); it contains neither save. */
static int check_stopped(const struct train_result *r, const char *path)
{
    struct checkpoint saved = { 0 };
    int n_failures = 0;

    n_failures += EXPECT(r->stop_signal == SIGTERM && r->n_steps == 2);
    n_failures += EXPECT(r->saves.n_written == 2 && disk.n_saves == 2);
    for (int w = 0; w < r->n_workers; w++)
        n_failures += check_steps_apart(r, w, 0) + check_steps_apart(r, w, 1);
    n_failures += EXPECT(checkpoint_load(&saved, path) == RC_OK && saved.steps_count == r->n_steps);
    n_failures += EXPECT(saved.n_params == r->final.n_params && saved.n_params > 0);
    if (n_failures == 0)
        n_failures += EXPECT(memcmp(saved.param, r->final.param, saved.n_params * sizeof *saved.param) == 0);
    checkpoint_free(&saved);
    return n_failures;
}

static const struct run_case {
    const char *name;
    int (*check)(const struct train_result *r, const char *path);
    int every, stopped_save;
} cases[] = {
    { "alive", check_alive, EVERY, 0 },
    { "apart", check_apart, EVERY, 0 },
    { "stopped", check_stopped, 1, 1 },
};

static int run_case(const struct run_case *c, const char *world, const struct way *way, const char *path)
{
    struct train_result result = { 0 };
    char options[256];

    (void)snprintf(options, sizeof options, "--world %s --model lenet --threads 1 --eval-samples 0 --steps %d %s",
                   world, STEPS, way->options);
    disk.way = way;
    disk.stopped_save = c->stopped_save;
    stop_catch_first();
    disk.is_watched = true;
    const enum rc rc = kit_train_saving(&result, options, path, c->every, &disk.world);
    disk.is_watched = false;
    stop_release();
    int n_failures = EXPECT(rc == RC_OK);
    if (n_failures == 0 && result.stamp) /* rank 0 was here */
        n_failures += c->check(&result, path);
    train_result_free(&result);
    return n_failures;
}

static int run(int argc, char **argv, const char *path)
{
    if (argc == 2 && strcmp(argv[1], "chunks") == 0)
        return check_chunks(path);
    for (size_t i = 0; argc == 4 && i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; strcmp(argv[1], cases[i].name) == 0 && k < sizeof ways / sizeof *ways; k++)
            if (strcmp(argv[3], ways[k].name) == 0)
                return run_case(&cases[i], argv[2], &ways[k], path);
    fprintf(stderr, "usage: slow_save_test chunks | CASE WORLD WAY\n");
    return 1;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/slow_save.XXXXXX", path[64];

    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
    const int n_failures = run(argc, argv, path);
    (void)unlink(path);
    (void)rmdir(folder);
    return n_failures > 0;
}
