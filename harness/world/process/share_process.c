/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_process.c - shares of processes: each rank makes an object of the kernel, sends its address, and maps those of
 * the others. Calls no MPI but through the world's operations.
 *
 * A segment is what one object holds: the block, then on a cache line of its own the bell of its owner.
 */
#include "harness/world/process/share_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "harness/base/rc.h"
#include "harness/world/host_load.h"
#include "harness/world/share.h"
#include "harness/world/share_block.h"
#include "harness/world/share_inner.h"
#include "harness/world/wait.h"

/*
 * Memory of the kernel that other processes can map: a memfd, or a file in /dev/shm.
 *
 * State       meaning                                function
 *   created   memory, for this process               share_object_create()
 *   open      ... and for peers, through /proc or,   share_object_publish()
 *             for a file only, under a name
 *   closed    only for processes that have it        share_object_close(), and the end of this process; if it is
 *             mapped                                 killed, a name stays until the next one is made
 *
 * Errors of all functions: RC_NOMEM: a limit, or no room. RC_UNSUPPORTED: the system refuses this kind; the other may
 * work.
 */

enum { SHARE_PATH_BYTES = 64 };

struct share_object {
    enum share_kind kind;
    int fd;                      /* -1: none */
    size_t n_bytes;              /* whole pages */
    char path[SHARE_PATH_BYTES]; /* of a file that has a name; else "" */
};

struct share_address { /* for peers to find it */
    char path[SHARE_PATH_BYTES];
    uint64_t device, inode, n_bytes;
};

/* --- the object of shared memory --- */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8u
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif

#define FOLDER "/dev/shm"
#define PREFIX "gradmark-share-"

/* Too many files, no memory: more of it would help. Anything else does not go here. */
static enum rc raise_errno(const char *what)
{
    const bool is_limit = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOSPC || errno == EDQUOT;

    return rc_raise(is_limit ? RC_NOMEM : RC_UNSUPPORTED, "%s: %s", what, strerror(errno));
}

/* Growing a file over this limit would be answered by a signal. */
static size_t file_limit_bytes(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}

static enum rc check_limit(size_t n_bytes)
{
    if (n_bytes > file_limit_bytes())
        return rc_raise(RC_NOMEM, "no room for %zu bytes: the limit of a file (ulimit -f) is %zu bytes", n_bytes,
                        file_limit_bytes());
    return RC_OK;
}

static enum rc check_file_system(int fd, size_t n_bytes)
{
    struct statvfs fs;

    if (fstatvfs(fd, &fs) == 0 && fs.f_blocks > 0 && n_bytes / fs.f_frsize >= fs.f_bavail)
        return rc_raise(RC_NOMEM, "no room for %zu bytes in " FOLDER ": %zu bytes are free", n_bytes,
                        (size_t)fs.f_bavail * fs.f_frsize);
    return RC_OK;
}

/* Systems that forbid memfds with code in them want the flag, and older ones do not know it. */
static int open_memfd(unsigned flags)
{
    const int fd = memfd_create("gradmark-share", MFD_CLOEXEC | MFD_NOEXEC_SEAL | flags);

    return fd < 0 && errno == EINVAL ? memfd_create("gradmark-share", MFD_CLOEXEC | flags) : fd;
}

/* -1: there is no such pool, or it has not enough pages. */
static int open_hugetlb(size_t n_bytes)
{
    const int fd = open_memfd(MFD_HUGETLB | MFD_HUGE_2MB);

    if (fd >= 0 && ftruncate(fd, (off_t)n_bytes) == 0 && fallocate(fd, 0, 0, (off_t)n_bytes) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* Its owner holds the lock for as long as a file has its name. */
static void remove_if_left(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    (void)close(fd);
}

static void remove_left_files(void)
{
    DIR *folder = opendir(FOLDER);

    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            remove_if_left(dirfd(folder), entry->d_name);
    if (folder)
        (void)closedir(folder);
}

static enum rc open_file(int *fd)
{
    *fd = open(FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0)
        return raise_errno("a file in " FOLDER);
    return RC_OK;
}

/* Memory stays mapped. Clears. Cannot fail. */
static void share_object_close(struct share_object *o)
{
    if (o->path[0] != '\0')
        (void)unlink(o->path);
    if (o->fd >= 0)
        (void)close(o->fd); /* after the name is gone: the lock goes with it */
    *o = (struct share_object){ .fd = -1 };
}

/* Makes at least n_bytes, all zero. The pages of a memfd of 2 MiB or more are from the hugetlb pool, if that has
 * enough. */
static enum rc share_object_create(struct share_object *out, enum share_kind kind, size_t n_bytes)
{
    struct share_object o = { .kind = kind, .fd = -1 };
    const size_t n_huge_bytes = share_round_up(n_bytes, HUGE_PAGE_BYTES);
    enum rc rc;

    *out = o;
    o.n_bytes = share_round_up(n_bytes, share_page_bytes());
    TRY(check_limit(o.n_bytes));
    if (kind == SHARE_MEMFD && n_bytes >= HUGE_PAGE_BYTES && n_huge_bytes <= file_limit_bytes()) {
        o.fd = open_hugetlb(n_huge_bytes);
        o.n_bytes = o.fd >= 0 ? n_huge_bytes : o.n_bytes;
    }
    if (kind == SHARE_FILE)
        TRY(open_file(&o.fd));
    else if (o.fd < 0)
        o.fd = open_memfd(0);
    if (o.fd < 0)
        TRY(raise_errno("memfd_create"));
    TRY(check_file_system(o.fd, o.n_bytes));
    if (ftruncate(o.fd, (off_t)o.n_bytes) != 0)
        TRY(raise_errno("ftruncate"));
    *out = o;
    o.fd = -1;
out:
    share_object_close(&o);
    return rc;
}

/* A name that nobody else takes, and a lock that says that somebody needs it. */
static enum rc name_file(struct share_object *o)
{
    char from[SHARE_PATH_BYTES], path[SHARE_PATH_BYTES];
    uint64_t number;

    remove_left_files();
    if (flock(o->fd, LOCK_EX | LOCK_NB) != 0)
        return raise_errno("lock a file in " FOLDER);
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return raise_errno("getrandom");
    (void)snprintf(from, sizeof from, "/proc/self/fd/%d", o->fd);
    (void)snprintf(path, sizeof path, FOLDER "/" PREFIX "%016" PRIx64, number);
    if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0)
        return raise_errno("name a file in " FOLDER);
    memcpy(o->path, path, sizeof path);
    return RC_OK;
}

/* named: under a name in /dev/shm. Names that killed processes left are removed (world.H8). */
static enum rc share_object_publish(struct share_object *o, bool named, struct share_address *out)
{
    struct share_address a = { .n_bytes = o->n_bytes };
    struct stat file;
    enum rc rc = RC_OK;

    if (fstat(o->fd, &file) != 0)
        TRY(raise_errno("fstat"));
    if (named) {
        TRY(name_file(o));
        memcpy(a.path, o->path, sizeof a.path);
    } else
        (void)snprintf(a.path, sizeof a.path, "/proc/%ld/fd/%d", (long)getpid(), o->fd);
    a.device = file.st_dev;
    a.inode = file.st_ino;
    *out = a;
out:
    return rc;
}

/* For another process of the same host group. The caller closes *fd. */
static enum rc share_object_open_peer(int *fd, const struct share_address *a)
{
    struct stat file;
    enum rc rc = RC_OK;

    *fd = open(a->path, O_RDWR | O_CLOEXEC);
    if (*fd < 0)
        TRY(raise_errno(a->path));
    if (fstat(*fd, &file) != 0)
        TRY(raise_errno("fstat"));
    if (file.st_dev != a->device || file.st_ino != a->inode || (uint64_t)file.st_size != a->n_bytes)
        FAIL(RC_UNSUPPORTED, "%s: is other memory than its owner means", a->path);
out:
    if (rc != RC_OK && *fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
    return rc;
}

enum { LINE_BYTES = 128 };

struct process_share {
    struct share base;
    struct share_block *block; /* [n_ranks] */
    void **peer;
    struct doorbell **bell;
    char reason[RC_MESSAGE_BYTES];
};

struct way { /* to reach each other's memory */
    enum share_kind kind;
    bool named;
};

struct place { /* ranks for which all of it is equal can map each other's memory; no padding: compared as bytes */
    uint64_t process_namespace, ipc_namespace, launcher_host;
    char kernel[HOST_KERNEL_BYTES];
};

static struct place own_place(const struct world *w)
{
    struct place p = { host_namespace_id("pid"), host_namespace_id("ipc"), (uint64_t)w->host_first_rank, "" };

    host_kernel_id(p.kernel, "");
    return p;
}

static int first_at_place(const struct place *of, int r)
{
    int first = (int)of[r].launcher_host;

    while (memcmp(&of[first], &of[r], sizeof of[r]) != 0)
        first++;
    return first;
}

static enum rc host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    const struct place own = own_place(w);
    struct place *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &own, all, sizeof own));
    const int first = first_at_place(all, w->rank);
    if (out)
        TRY(world_split(w, first, w->rank, out));
    *host = *n_hosts = 0;
    for (int r = 0; r < w->n_ranks; r++)
        if (first_at_place(all, r) == r) {
            *n_hosts += 1;
            *host += r < first;
        }
out:
    free(all);
    return rc;
}

static size_t bell_offset_bytes(size_t n_bytes)
{
    return share_round_up(n_bytes, LINE_BYTES);
}

static void set_rank(struct process_share *s, int r)
{
    char *memory = s->block[r].memory;

    s->peer[r] = memory;
    s->bell[r] = (struct doorbell *)(void *)(memory + bell_offset_bytes(s->base.n_bytes));
}

/* This rank's segment. */
static enum rc make_segment(struct process_share *s, struct share_object *object)
{
    const int rank = s->base.group->rank;
    const size_t n_bytes = bell_offset_bytes(s->base.n_bytes) + LINE_BYTES;
    enum rc rc;

    TRY(share_object_create(object, s->base.kind, n_bytes));
    TRY(share_block_map(&s->block[rank], object->fd, object->n_bytes));
    TRY(share_block_touch(&s->block[rank], object->fd));
    set_rank(s, rank);
    s->bell[rank]->between_processes = true;
out:
    return rc;
}

static enum rc map_segment(struct share_block *out, const struct share_address *a)
{
    int fd = -1;
    enum rc rc;

    TRY(share_object_open_peer(&fd, a));
    TRY(share_block_map(out, fd, a->n_bytes));
    TRY(share_block_touch(out, fd));
out:
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static enum rc map_peers(struct process_share *s, const struct share_address *of)
{
    enum rc rc = RC_OK;

    for (int r = 0; r < s->base.group->n_ranks; r++) {
        if (r == s->base.group->rank)
            continue;
        TRY(map_segment(&s->block[r], &of[r]));
        set_rank(s, r);
    }
out:
    return rc;
}

static void unmap_all(struct process_share *s)
{
    for (int r = 0; s->block && r < s->base.group->n_ranks; r++)
        share_block_unmap(&s->block[r]);
}

/* RC_UNSUPPORTED, on all ranks: another way may serve. */
static enum rc open_by(struct process_share *s, struct way way)
{
    struct world *group = s->base.group;
    struct share_address own = { .n_bytes = 0 }, *all = calloc((size_t)group->n_ranks, sizeof *all);
    struct share_object object = { .fd = -1 };
    enum rc rc;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the addresses of %d ranks", group->n_ranks);
    s->base.kind = way.kind;
    TRY(share_agree(group, make_segment(s, &object)));
    TRY(share_agree(group, share_object_publish(&object, way.named, &own))); /* after what may take long: world.H8 */
    TRY(world_allgather(group, &own, all, sizeof own));
    TRY(share_agree(group, map_peers(s, all)));
out:
    share_object_close(&object);
    if (rc != RC_OK)
        unmap_all(s);
    free(all);
    return rc;
}

/* The first way that serves all ranks. reason: what the first one lacks. */
static enum rc open_by_any(struct process_share *s)
{
    static const struct way ways[] = { { SHARE_MEMFD, false }, { SHARE_FILE, false }, { SHARE_FILE, true } };
    enum rc rc = open_by(s, ways[0]);

    for (size_t i = 1; rc == RC_UNSUPPORTED && i < sizeof ways / sizeof *ways; i++) {
        if (i == 1)
            (void)snprintf(s->reason, sizeof s->reason, "%s", rc_message());
        s->base.reason = s->reason;
        rc = open_by(s, ways[i]);
    }
    if (rc == RC_UNSUPPORTED)
        rc = rc_raise(rc, "no memory can be shared: %.200s; %.200s", s->reason, rc_message());
    return rc;
}

static void close_share(struct share *base)
{
    struct process_share *s = (struct process_share *)base;

    unmap_all(s);
    free(s->block);
    free(s->peer);
    free(s->bell);
    free(s);
}

static enum rc open_share(struct share **out, struct world *group, size_t n_bytes)
{
    const size_t n = (size_t)group->n_ranks;
    struct process_share *s = calloc(1, sizeof *s);
    enum rc rc;

    if (!s)
        FAIL(RC_NOMEM, "no memory for a share of %zu ranks", n);
    s->base = (struct share){ .group = group, .n_bytes = n_bytes };
    s->block = calloc(n, sizeof *s->block);
    s->base.peer = s->peer = calloc(n, sizeof *s->peer);
    s->base.bell = s->bell = calloc(n, sizeof(struct doorbell *));
    if (!s->block || !s->peer || !s->bell)
        FAIL(RC_NOMEM, "no memory for a share of %zu ranks", n);
    TRY(open_by_any(s));
    s->base.mine = s->peer[group->rank];
    *out = &s->base;
    s = NULL;
out:
    if (s)
        close_share(&s->base);
    return rc;
}

const struct share_ops process_share_ops = {
    .host_group = host_group,
    .open = open_share,
    .ring = share_bell_ring,
    .wait = share_bell_wait,
    .close = close_share,
};
