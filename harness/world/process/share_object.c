/* SPDX-License-Identifier: Apache-2.0 */
/* share_object.c - memfd, and files in /dev/shm, which have no name or have it for a moment. */
#include "harness/world/process/share_object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "harness/world/share_block.h"

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

enum rc share_object_create(struct share_object *out, enum share_kind kind, size_t n_bytes)
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

enum rc share_object_publish(struct share_object *o, bool named, struct share_address *out)
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

enum rc share_object_open_peer(int *fd, const struct share_address *a)
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

void share_object_close(struct share_object *o)
{
    if (o->path[0] != '\0')
        (void)unlink(o->path);
    if (o->fd >= 0)
        (void)close(o->fd); /* after the name is gone: the lock goes with it */
    *o = (struct share_object){ .fd = -1 };
}
