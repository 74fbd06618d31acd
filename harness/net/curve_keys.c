/* SPDX-License-Identifier: Apache-2.0 */
/* curve_keys.c - key pairs and their files; the contract is in curve_keys.h. */
#include "harness/net/curve_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "harness/base/file.h"
#include "harness/base/text.h"

#define FIRST_LINE "gradmark-keys 1\n"
#define PUBLIC_WORD "public "
#define SECRET_WORD "secret "

enum { N_TEXT_CHARS = CURVE_TEXT_BYTES - 1 };
enum {
    FILE_BYTES = (sizeof FIRST_LINE - 1) + (sizeof PUBLIC_WORD - 1) + (sizeof SECRET_WORD - 1) + 2 * CURVE_TEXT_BYTES,
    MARKS_BYTES = 3 + 3 /* a byte order mark, and a carriage return in each line */
};

struct curve_set {
    unsigned char (*key)[CURVE_KEY_BYTES];
    int n_keys;
};

enum rc curve_check(void)
{
    if (zmq_has("curve"))
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED,
                    "this libzmq cannot encrypt: it was built without CURVE; install one that was "
                    "built with libsodium (or give --insecure where everybody on the network is trusted)");
}

void curve_keys_wipe(struct curve_keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}

enum rc curve_keys_make(struct curve_keys *out)
{
    enum rc rc;

    curve_keys_wipe(out);
    TRY(curve_check());
    if (zmq_curve_keypair(out->public_text, out->secret_text) != 0)
        FAIL(RC_UNSUPPORTED, "no pair of CURVE keys: %s", zmq_strerror(errno));
out:
    return rc;
}

/* The end of `path` is replaced: it is a name that nothing has yet, of a file that only its owner may read. */
static enum rc create_beside(int *fd, char **temporary, const char *path)
{
    if (asprintf(temporary, "%s.XXXXXX", path) < 0) {
        *temporary = NULL;
        return rc_raise(RC_NOMEM, "%s: no memory for its name", path);
    }
    *fd = mkostemp(*temporary, O_CLOEXEC); /* mode 0600 */
    if (*fd >= 0)
        return RC_OK;
    const int error = errno;
    free(*temporary);
    *temporary = NULL;
    return rc_raise(RC_INVAL, "%s: cannot be written: %s", path, strerror(error));
}

/* net.K1: link() makes no name that is there already. */
static enum rc put_in_place(const char *temporary, const char *path, bool replaces)
{
    if ((replaces ? rename(temporary, path) : link(temporary, path)) == 0)
        return RC_OK;
    if (errno == EEXIST)
        return rc_raise(RC_INVAL, "%s: is there already, and is not overwritten without --force", path);
    return rc_raise(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
}

enum rc curve_keys_write(const char *path, const struct curve_keys *keys, bool replaces)
{
    char text[FILE_BYTES + 1] = "";
    char *temporary = NULL, *target = NULL;
    int fd = -1;
    enum rc rc;

    target = replaces ? file_target(path) : strdup(path); /* a link stays, what it points to is replaced */
    if (!target)
        FAIL(errno == ENOMEM ? RC_NOMEM : RC_INVAL, "%s: cannot be written: %s", path, strerror(errno));
    (void)snprintf(text, sizeof text, FIRST_LINE PUBLIC_WORD "%s\n" SECRET_WORD "%s\n", keys->public_text,
                   keys->secret_text);
    TRY(create_beside(&fd, &temporary, target));
    if (write(fd, text, FILE_BYTES) != FILE_BYTES || fsync(fd) != 0)
        FAIL(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
    TRY(put_in_place(temporary, target, replaces));
    file_sync_folder_of(target);
out:
    explicit_bzero(text, sizeof text);
    if (fd >= 0)
        (void)close(fd);
    if (temporary)
        (void)unlink(temporary); /* renamed: it is not there any more */
    free(temporary);
    free(target);
    return rc;
}

enum rc curve_set_open(struct curve_set **out)
{
    struct curve_set *set = calloc(1, sizeof *set);

    if (!set)
        return rc_raise(RC_NOMEM, "no memory for a set of keys");
    *out = set;
    return RC_OK;
}

enum rc curve_set_add(struct curve_set *set, const char *public_text)
{
    unsigned char key[CURVE_KEY_BYTES];

    if (strlen(public_text) != N_TEXT_CHARS || !zmq_z85_decode(key, public_text))
        return rc_raise(RC_INVAL, "\"%.60s\" is no public key: %d characters of Z85", public_text, N_TEXT_CHARS);
    if (curve_set_has(set, key))
        return RC_OK;
    unsigned char(*grown)[CURVE_KEY_BYTES] = realloc(set->key, ((size_t)set->n_keys + 1) * sizeof *grown);
    if (!grown)
        return rc_raise(RC_NOMEM, "no memory for a set of %d keys", set->n_keys + 1);
    set->key = grown;
    memcpy(set->key[set->n_keys++], key, sizeof key);
    return RC_OK;
}

bool curve_set_has(const struct curve_set *set, const unsigned char key[CURVE_KEY_BYTES])
{
    for (int i = 0; i < set->n_keys; i++)
        if (memcmp(set->key[i], key, CURVE_KEY_BYTES) == 0)
            return true;
    return false;
}

int curve_set_n_keys(const struct curve_set *set)
{
    return set->n_keys;
}

void curve_set_close(struct curve_set **setp)
{
    struct curve_set *set = setp ? *setp : NULL;

    if (!set)
        return;
    *setp = NULL;
    free(set->key);
    free(set);
}
