/* SPDX-License-Identifier: Apache-2.0 */
/* gang_own_key.c - the key of a user, for runs by hand on one host; the contract is in gang.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/world/tcp/gang.h"

#define REMEDY "give all members the same key by --key-file FILE (gradmark keys makes one)"

enum { HEX_BYTES = 2 * GANG_KEY_BYTES + 1 };

/* base: $XDG_CONFIG_HOME, or .config in $HOME, or in the home folder that the system knows for this user. */
static enum rc find_base(char base[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool has_config = config && config[0] == '/';
    const struct passwd *user = has_config || (home && home[0] == '/') ? NULL : getpwuid(geteuid());
    int n;

    if (user)
        home = user->pw_dir;
    if (!has_config && (!home || home[0] != '/'))
        return rc_raise(RC_INVAL,
                        "--key-file: is not given, and the user's own key is in the folder HOME, which is not "
                        "set; set it, or " REMEDY);
    n = has_config ? snprintf(base, PATH_MAX, "%s", config) : snprintf(base, PATH_MAX, "%s/.config", home);
    return n < PATH_MAX ? RC_OK : rc_raise(RC_INVAL, "--key-file: is not given, and HOME is too long; " REMEDY);
}

/* Does the nearest folder of path that is there belong to another user, as HOME does under sudo? */
static bool is_of_another(const char *path)
{
    char part[PATH_MAX];
    struct stat about;

    (void)snprintf(part, sizeof part, "%s", path);
    while (stat(part, &about) != 0) {
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            return false;
        *slash = '\0';
    }
    return about.st_uid != geteuid();
}

/* A link is refused: who can write in the folder could make one. */
static enum rc check_file(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat about;
    enum rc rc = RC_OK;

    if (fd < 0 || fstat(fd, &about) != 0)
        FAIL(RC_INVAL, "--key-file %.200s: the user's own key cannot be read: %s; remove it, or " REMEDY, path,
             errno == ELOOP ? "it is a link" : strerror(errno));
    if (!S_ISREG(about.st_mode) || about.st_uid != geteuid())
        FAIL(RC_INVAL, "--key-file %.200s: the user's own key %s; remove it, or " REMEDY, path,
             S_ISREG(about.st_mode) ? "belongs to another user" : "is not a regular file");
out:
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* Whoever is first makes it. It has its name only when it is whole. */
static enum rc make_file(const char *folder, const char *path)
{
    char temporary_path[PATH_MAX + 32], hex[HEX_BYTES] = "";
    unsigned char key[GANG_KEY_BYTES];
    enum rc rc;

    TRY(file_make_folder(folder));
    (void)snprintf(temporary_path, sizeof temporary_path, "%s.XXXXXX", path);
    const int fd = mkostemp(temporary_path, O_CLOEXEC); /* O_EXCL, mode 0600 */
    if (fd < 0)
        return rc_raise(RC_INVAL, "%s: cannot be written: %s", path, strerror(errno));
    randombytes_buf(key, sizeof key);
    (void)sodium_bin2hex(hex, sizeof hex, key, sizeof key);
    if (dprintf(fd, GANG_OWN_KEY_LINE "%s\n", hex) < 0 || fsync(fd) != 0 ||
        (link(temporary_path, path) != 0 && errno != EEXIST))
        rc = rc_raise(RC_INVAL, "%s: cannot be written: %s", path, strerror(errno));
    sodium_memzero(hex, sizeof hex);
    sodium_memzero(key, sizeof key);
    (void)close(fd);
    (void)unlink(temporary_path);
out:
    return rc;
}

enum rc gang_own_key_file(char *out, size_t n_bytes)
{
    char base[PATH_MAX], folder[PATH_MAX + 16], path[PATH_MAX + 32], why[RC_MESSAGE_BYTES];
    struct stat about;
    enum rc rc;

    TRY(find_base(base));
    (void)snprintf(folder, sizeof folder, "%s/gradmark", base);
    (void)snprintf(path, sizeof path, "%s/tcp.key", folder);
    if (strlen(path) >= n_bytes)
        FAIL(RC_INVAL, "--key-file: is not given, and HOME is too long; " REMEDY);
    if (sodium_init() < 0)
        FAIL(RC_IO, "libsodium cannot be initialised: the system gives no random numbers");
    if (lstat(path, &about) != 0) {
        if (is_of_another(folder))
            FAIL(RC_INVAL,
                 "--key-file: is not given, and no key of this user can be made in %.200s, which belongs to "
                 "another user; set HOME, or " REMEDY,
                 base);
        if (make_file(folder, path) != RC_OK) {
            (void)snprintf(why, sizeof why, "%s", rc_message());
            FAIL(RC_INVAL, "--key-file: is not given, and no key of this user can be made: %.300s; " REMEDY, why);
        }
    }
    TRY(check_file(path));
    (void)snprintf(out, n_bytes, "%s", path);
out:
    return rc;
}
