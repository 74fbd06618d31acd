/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_mpi_test.c MODE - shares of processes, on systems that lack one thing or another. Under mpiexec; a plain
 * program: exit code 0: passed, 77: this system cannot run that mode.
 *
 * What a system lacks is taken away for real: system calls by a filter (seccomp), rights, limits, namespaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/host_memory.h"
#include "harness/world/share.h"
#include "harness/world/suite/deny.h"
#include "harness/world/suite/share_suite.h"
#include "harness/world/wait.h"

extern const struct world_ops world_mpi;

enum { SKIPPED = 77, SMALL_BYTES = 100000, LARGE_BYTES = 3 << 20 };

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define NO_TIGHT_LIMITS /* these take more addresses than any limit */
#endif
#define LONG_NS UINT64_C(20000000000)
#define FOLDER "/dev/shm"

struct job {
    const char *mode;
    int n_failures;
    bool is_skipped;
};

static int expect(bool ok, const char *what)
{
    if (!ok)
        fprintf(stderr, "not so: %s; last error: %s\n", what, rc_message());
    return !ok;
}
#define EXPECT(ok) expect((ok), #ok)

/* Collective: can one rank not do what its mode needs? */
static bool skips(struct world *w, struct job *job)
{
    bool *all = calloc((size_t)w->n_ranks, sizeof *all);

    if (!all || world_allgather(w, &job->is_skipped, all, sizeof *all) != RC_OK)
        job->n_failures++;
    for (int r = 0; all && r < w->n_ranks; r++)
        job->is_skipped |= all[r];
    free(all);
    return job->is_skipped;
}

static int open_one(struct world *w, size_t n_bytes, enum rc expected, const char *words, const char *more_words)
{
    struct share *share = NULL;
    int n_failures = 0;

    n_failures += EXPECT(world_share_open(w, n_bytes, &share) == expected);
    n_failures += EXPECT((share != NULL) == (expected == RC_OK));
    if (expected != RC_OK)
        n_failures += EXPECT(strstr(rc_message(), words) && strstr(rc_message(), more_words));
    world_share_close(&share);
    return n_failures;
}

/* Opens one, which must be of this kind, for this reason. */
static int open_kind(struct world *w, enum share_kind kind, const char *words)
{
    struct share *share = NULL;
    int n_failures = EXPECT(world_share_open(w, SMALL_BYTES, &share) == RC_OK);

    if (share) {
        n_failures += EXPECT(share->kind == kind && (share->reason != NULL) == (kind == SHARE_FILE));
        n_failures += EXPECT(!share->reason || strstr(share->reason, words));
        for (int r = 0; r < w->n_ranks; r++) /* else only the limits of their sleeps wake ranks */
            n_failures += EXPECT(share->bell[r]->between_processes);
        fprintf(stderr, "rank %d: %s, %s\n", w->rank, share_kind_text(share->kind), share->reason ? share->reason : "");
    }
    world_share_close(&share);
    return n_failures;
}

static int suite(struct world *w, struct job *job)
{
    (void)job;
    return share_suite(w, LONG_NS, NULL) + (w->n_host_ranks == w->n_ranks ? open_kind(w, SHARE_MEMFD, "") : 0);
}

/* Free pages of the hugetlb pool. */
static long count_hugetlb_pages(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    long n_pages = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "HugePages_Free: %ld", &n_pages) == 1)
            break;
    if (file)
        (void)fclose(file);
    return n_pages;
}

/* Huge pages of the pool are used where it has enough for all, and reported. A block and its bell are in N + 1 of them.
 */
static int pages(struct world *w, struct job *job)
{
    enum { N = 4, HUGE_BYTES = 2 << 20 };
    const long n_free = count_hugetlb_pages();
    struct share *share = NULL;
    int n_failures = world_barrier(w) != RC_OK;

    (void)job;
    n_failures += EXPECT(world_share_open(w, (size_t)N * HUGE_BYTES, &share) == RC_OK);
    n_failures += world_barrier(w) != RC_OK;
    if (share) {
        const enum pages kind = pages_of(share->mine, share->n_bytes);
        fprintf(stderr, "rank %d: pages %s, %ld free in the pool\n", w->rank, pages_text(kind), n_free);
        n_failures += EXPECT(kind == PAGES_HUGETLB || n_free < (long)w->n_ranks * (N + 1));
        n_failures += EXPECT(kind != PAGES_HUGETLB || n_free > N);
        n_failures += EXPECT(count_hugetlb_pages() <= n_free - (kind == PAGES_HUGETLB ? N + 1 : 0));
    }
    n_failures += world_barrier(w) != RC_OK;
    world_share_close(&share);
    return n_failures;
}

/* MADV_POPULATE_WRITE came with Linux 5.14. */
static int old_kernel(struct world *w, struct job *job)
{
    job->is_skipped = !deny_call(SYS_madvise, 2, 23, EINVAL);
    return share_suite(w, LONG_NS, NULL);
}

static int make_file(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, FOLDER "/gradmark-share-%s-%ld", name, (long)getpid());
    return open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

static bool remove_file(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, FOLDER "/gradmark-share-%s-%ld", name, (long)getpid());
    return unlink(path) == 0;
}

/* One rank has no memfd, so all use files. They need no name: none may be given. */
static int no_memfd(struct world *w, struct job *job)
{
    if (w->rank == w->n_ranks - 1)
        job->is_skipped = !deny_call(SYS_memfd_create, -1, 0, EPERM);
    job->is_skipped |= !deny_call(SYS_linkat, -1, 0, EPERM);
    return open_kind(w, SHARE_FILE, "rank 2 of this host: memfd_create: Operation not permitted") +
           share_suite(w, LONG_NS, NULL);
}

/* Rank 1's files in /proc are for itself only, and no rank has the right to trace others, which would open them. */
static bool lose_proc(const struct world *w)
{
    return deny_trace() && (w->rank != 1 || prctl(PR_SET_DUMPABLE, 0) == 0);
}

/* Files with names. One that nobody holds any more is removed, another one stays (world.H8). */
static int no_proc(struct world *w, struct job *job)
{
    const int left = w->rank == 0 ? make_file("left") : -1, held = w->rank == 0 ? make_file("held") : -1;
    int n_failures = 0;

    if (w->rank == 0) {
        n_failures += EXPECT(left >= 0 && held >= 0 && flock(held, LOCK_EX) == 0);
        (void)close(left);
    }
    job->is_skipped = !lose_proc(w);
    n_failures += open_kind(w, SHARE_FILE, "rank 0 of this host: /proc/");
    if (w->rank == 0) {
        n_failures += EXPECT(!remove_file("left"));
        n_failures += EXPECT(remove_file("held"));
        (void)close(held);
    }
    return n_failures + share_suite(w, LONG_NS, NULL);
}

static int nothing_serves(struct world *w, struct job *job)
{
    job->is_skipped = !lose_proc(w);
    if (w->rank == 1)
        job->is_skipped |= !deny_call(SYS_memfd_create, -1, 0, ENOSYS);
    if (w->rank == 2)
        job->is_skipped |= !deny_call(SYS_linkat, -1, 0, EPERM);
    return open_one(w, SMALL_BYTES, RC_UNSUPPORTED, "rank 1 of this host: memfd_create: Function not implemented",
                    "rank 2 of this host: name a file in " FOLDER ": ");
}

/* Limits of one process: all ranks get the error, none a signal; later shares open again.
 * Regression: a share of a few hundred bytes was refused under ulimit -f 1024. */
static int limits(struct world *w, struct job *job)
{
    static const struct {
        int resource;
        rlim_t limit;
        const char *words;
    } of[] = {
        { RLIMIT_FSIZE, 1 << 20, "(ulimit -f) is 1048576 bytes" },
        { RLIMIT_NOFILE, 3, "Too many open files" },
        { RLIMIT_AS, 1 << 20, "Cannot allocate memory" },
    };
    struct rlimit old, tight;
    int n_failures = 0;

    (void)job;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
#ifdef NO_TIGHT_LIMITS
        if (of[i].resource == RLIMIT_AS)
            continue;
#endif
        if (w->rank == 1) {
            n_failures += EXPECT(getrlimit((__rlimit_resource_t)of[i].resource, &old) == 0);
            tight = (struct rlimit){ of[i].limit, old.rlim_max };
            n_failures += EXPECT(setrlimit((__rlimit_resource_t)of[i].resource, &tight) == 0);
        }
        n_failures += open_one(w, LARGE_BYTES, RC_NOMEM, "rank 1 of this host: ", of[i].words);
        if (of[i].resource == RLIMIT_FSIZE) /* what fits is not refused for what huge pages would take */
            n_failures += open_one(w, SMALL_BYTES, RC_OK, "", "");
        if (w->rank == 1)
            n_failures += EXPECT(setrlimit((__rlimit_resource_t)of[i].resource, &old) == 0);
        n_failures += open_one(w, LARGE_BYTES, RC_OK, "", "");
    }
    return n_failures;
}

/* A /dev/shm of 64 KiB, as small containers have: memfd does not care, files have no room. */
static int small_folder(struct world *w, struct job *job)
{
    int n_failures;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", FOLDER, "tmpfs", 0, "size=64k") != 0)
        job->is_skipped = true;
    n_failures = suite(w, job);
    job->is_skipped |= !deny_call(SYS_memfd_create, -1, 0, EPERM);
    return n_failures + open_one(w, SMALL_BYTES, RC_NOMEM, "in " FOLDER ": ", " bytes are free");
}

/* Each rank has a /dev/shm of its own, and no /proc for others: a name means nothing to them. */
static int apart(struct world *w, struct job *job)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", FOLDER, "tmpfs", 0, "size=1m") != 0 || !lose_proc(w))
        job->is_skipped = true;
    return open_one(w, SMALL_BYTES, RC_UNSUPPORTED, "rank 0 of this host: /proc/", FOLDER "/gradmark-share-");
}

/* world.H1: rank 1 has left the others' IPC namespace. */
static int namespaces(struct world *w, struct job *job)
{
    struct world *group = NULL;
    int host = -1, n_hosts = -1, n_failures = 0;

    if (w->rank == 1)
        job->is_skipped = unshare(CLONE_NEWIPC) != 0;
    n_failures += EXPECT(world_host_group(w, &group, &host, &n_hosts) == RC_OK);
    if (group) {
        n_failures += EXPECT(n_hosts == 2 && host == (w->rank == 1));
        n_failures += EXPECT(group->n_ranks == (w->rank == 1 ? 1 : 2) && group->rank == (w->rank == 2));
        n_failures += open_one(group, SMALL_BYTES, RC_OK, "", "");
    }
    world_split_close(&group);
    return n_failures;
}

/* Rank 1 is killed at its next call of this kind, while it opens; no call: when it has opened, and the others wait. */
static int killed_at(struct world *w, struct job *job, long call)
{
    struct share *share = NULL;

    if (strncmp(job->mode, "file-", 5) == 0)
        job->is_skipped = !deny_call(SYS_memfd_create, -1, 0, EPERM);
    if (strncmp(job->mode, "name-", 5) == 0)
        job->is_skipped = !lose_proc(w);
    if (w->rank == 1 && call >= 0)
        job->is_skipped |= !deny_call(call, call == SYS_madvise ? 2 : -1, 23, 0);
    if (skips(w, job))
        return 0;
    const bool is_open = world_share_open(w, LARGE_BYTES, &share) == RC_OK;
    if (is_open && w->rank == 1 && call < 0)
        world_die(w);
    if (is_open && w->rank != 1)
        (void)!share_wait(share, share_seen(share), LONG_NS);
    fprintf(stderr, "rank %d is alive\n", w->rank);
    return 1;
}

static int killed(struct world *w, struct job *job)
{
    static const struct {
        const char *name;
        long call;
    } at[] = {
        { "ftruncate", SYS_ftruncate },
        { "madvise", SYS_madvise },
        { "linkat", SYS_linkat },
        { "unlink", SYS_unlink },
        { "open", -1 },
    };
    const char *name = strchr(job->mode, '-') ? strchr(job->mode, '-') + 1 : "";

    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (strcmp(name, at[i].name) == 0)
            return killed_at(w, job, at[i].call);
    fprintf(stderr, "there is no mode %s\n", job->mode);
    return 1;
}

static enum rc body(struct world *w, void *arg)
{
    static const struct {
        const char *name;
        int (*play)(struct world *w, struct job *job);
    } modes[] = {
        { "suite", suite },           { "pages", pages },     { "old_kernel", old_kernel },
        { "no_memfd", no_memfd },     { "no_proc", no_proc }, { "nothing_serves", nothing_serves },
        { "limits", limits },         { "apart", apart },     { "small_folder", small_folder },
        { "namespaces", namespaces },
    };
    int (*play)(struct world *, struct job *) = killed;
    struct job *job = arg;
    enum rc rc;

    TRY(world_barrier(w));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(job->mode, modes[i].name) == 0)
            play = modes[i].play;
    job->n_failures += play(w, job);
    (void)skips(w, job);
    TRY(world_barrier(w));
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct job job = { .mode = argc == 2 ? argv[1] : "" };
    const struct world_opts opts = { .bind_cores = false };
    const enum rc rc = world_run(&world_mpi, &opts, 0, body, &job);

    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    if (job.is_skipped)
        return SKIPPED;
    return rc != RC_OK || job.n_failures > 0;
}
