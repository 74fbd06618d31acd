/* SPDX-License-Identifier: Apache-2.0 */
/* gang_key_file.c - keys in files: of a run, of a user, and the one by which processes join. */
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
#include "harness/base/text.h"
#include "harness/world/tcp/gang.h"

#define FIRST_LINE "gradmark-keys 1\n"
#define JOIN_LINE "gradmark-join 1\nkey " /* as the file by which processes join */
#define SECRET "\nsecret "
#define PURPOSE "gradmark world tcp" /* so that the key is of no use to who has another digest of the secret */

enum { TEXT_BYTES = 40, MOST_BYTES = 256, HEX_BYTES = 2 * GANG_KEY_BYTES };

/* Does text begin with that, and the key in hexadecimal digits? */
static bool take_hex(unsigned char key[GANG_KEY_BYTES], const char *text, const char *begin)
{
    const size_t n_begin = strlen(begin);

    return strncmp(text, begin, n_begin) == 0 && strcspn(text + n_begin, "\n") == HEX_BYTES &&
           sodium_hex2bin(key, GANG_KEY_BYTES, text + n_begin, HEX_BYTES, NULL, NULL, NULL) == 0;
}

static enum rc take_secret(unsigned char key[GANG_KEY_BYTES], const char *text, const char *path)
{
    const char *secret = strstr(text, SECRET);
    crypto_generichash_state digest;

    if (take_hex(key, text, JOIN_LINE) || take_hex(key, text, GANG_OWN_KEY_LINE))
        return RC_OK;
    if (strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0 || !secret ||
        strcspn(secret + strlen(SECRET), "\n") != TEXT_BYTES)
        return rc_raise(RC_INVAL, "--key-file %.200s: is no key file as gradmark keys makes it", path);
    if (sodium_init() < 0)
        return rc_raise(RC_IO, "libsodium cannot be initialised: the system gives no random numbers");
    (void)crypto_generichash_init(&digest, NULL, 0, GANG_KEY_BYTES);
    (void)crypto_generichash_update(&digest, (const unsigned char *)PURPOSE, strlen(PURPOSE));
    (void)crypto_generichash_update(&digest, (const unsigned char *)secret + strlen(SECRET), TEXT_BYTES);
    (void)crypto_generichash_final(&digest, key, GANG_KEY_BYTES);
    return RC_OK;
}

enum rc gang_read_key_file(unsigned char key[GANG_KEY_BYTES], const char *path)
{
    char text[MOST_BYTES + 1];
    struct stat about;
    size_t n_bytes = 0;
    ssize_t n = 1;
    enum rc rc = RC_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO does not make it wait */

    if (fd < 0 || fstat(fd, &about) != 0)
        FAIL(RC_IO, "--key-file %.200s: cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        FAIL(RC_INVAL, "--key-file %.200s: is not a regular file; name one that gradmark keys makes", path);
    if (about.st_mode & (S_IRWXG | S_IRWXO))
        FAIL(RC_INVAL, "--key-file %.200s: others than its owner may use it; use chmod 600", path);
    while (n > 0 && n_bytes < MOST_BYTES) {
        n = read(fd, text + n_bytes, MOST_BYTES - n_bytes);
        if (n < 0)
            FAIL(RC_IO, "--key-file %.200s: cannot be read: %s", path, strerror(errno));
        n_bytes += (size_t)n;
    }
    (void)text_drop_marks(text, n_bytes);
    TRY(take_secret(key, text, path));
out:
    sodium_memzero(text, sizeof text);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* --- the key of a user --- */

#define REMEDY "give all members the same key by --key-file FILE (gradmark keys makes one)"

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
    char temporary_path[PATH_MAX + 32], hex[HEX_BYTES + 1] = "";
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

/* --- the file by which processes join --- */

#define JOIN_FIRST_LINE "gradmark-join 1"

/* --- to write --- */

/* A name that nobody has yet gets what is in fd, whose own is temporary_path. */
static enum rc put_in_place(const char *temporary_path, const char *path)
{
    if (link(temporary_path, path) == 0)
        return RC_OK;
    if (errno == EEXIST)
        return rc_raise(RC_INVAL,
                        "--join-file %.200s: is there already, of another run or of one that was killed; remove it, or "
                        "name another",
                        path);
    return rc_raise(RC_IO, "--join-file %.200s: cannot be written: %s", path, strerror(errno));
}

enum rc gang_write_join_file(const char *path, const char *root, const char *key, const char *members)
{
    char temporary_path[PATH_MAX];
    FILE *to = NULL;
    int fd = -1;
    enum rc rc = RC_OK;

    if (snprintf(temporary_path, sizeof temporary_path, "%s.XXXXXX", path) >= (int)sizeof temporary_path)
        return rc_raise(RC_INVAL, "--join-file %.200s: is too long for a path", path);
    fd = mkostemp(temporary_path, O_CLOEXEC); /* for its owner alone */
    if (fd < 0)
        return rc_raise(RC_INVAL, "--join-file %.200s: cannot be written: %s", path, strerror(errno));
    to = fdopen(fd, "w");
    if (!to)
        FAIL(RC_NOMEM, "--join-file %.200s: no memory for it", path);
    fd = -1;
    const bool is_well = fprintf(to, JOIN_FIRST_LINE "\nkey %s\nroot %s\nmembers %s\n", key, root, members) > 0;
    const bool is_closed = fclose(to) == 0;
    if (!is_well || !is_closed)
        FAIL(RC_IO, "--join-file %.200s: cannot be written: %s", path, strerror(errno));
    TRY(put_in_place(temporary_path, path));
out:
    if (fd >= 0)
        (void)close(fd);
    (void)unlink(temporary_path);
    return rc;
}

/* --- to read --- */

/* The rest of the next line behind "NAME ", which stays until the next call; NULL: it is none such. */
static char *next_line(FILE *from, char **line, size_t *capacity, const char *name)
{
    const ssize_t n = getline(line, capacity, from);
    const size_t n_name = strlen(name);

    if (n <= 0 || (*line)[n - 1] != '\n' || strlen(*line) != (size_t)n || strncmp(*line, name, n_name) != 0)
        return NULL;
    (*line)[text_drop_marks(*line, (size_t)n) - 1] = '\0';
    return *line + n_name;
}

static enum rc take_lines(struct gang *g, FILE *from, char **line, size_t *capacity, const char *path)
{
    char host[GANG_ADDRESS_BYTES];
    const char *text = next_line(from, line, capacity, JOIN_FIRST_LINE);
    uint16_t port;
    bool is_well = text && text[0] == '\0' && next_line(from, line, capacity, "key ");

    if (is_well && (text = next_line(from, line, capacity, "root ")) && gang_split_address(text, host, &port))
        (void)snprintf(g->root, sizeof g->root, "%s", text);
    else
        is_well = false;
    if (!is_well || !(text = next_line(from, line, capacity, "members ")))
        return rc_raise(RC_INVAL, "--join-file %.200s: is no file that gradmark launch --join-file wrote", path);
    return gang_read_members(g, text);
}

enum rc gang_of_join_file(struct gang *out, const char *path)
{
    struct gang g = { .listening_fd = -1, .start_s = GANG_START_S, .joins = true, .n_host_ranks = 1 };
    FILE *from = NULL;
    struct stat about;
    char *line = NULL;
    size_t capacity = 0;
    enum rc rc;

    TRY(file_of_option(file_open_text(&from, path, "a file that gradmark launch --join-file wrote"), "join-file"));
    if (fstat(fileno(from), &about) != 0)
        FAIL(RC_IO, "--join-file %.200s: cannot be read: %s", path, strerror(errno));
    if (about.st_mode & (S_IRWXG | S_IRWXO))
        FAIL(RC_INVAL, "--join-file %.200s: others than its owner may use it; use chmod 600", path);
    TRY(take_lines(&g, from, &line, &capacity, path));
    *out = g;
    g = (struct gang){ .listening_fd = -1 };
out:
    if (line)
        sodium_memzero(line, capacity);
    free(line);
    if (from)
        (void)fclose(from);
    gang_free(&g);
    return rc;
}
