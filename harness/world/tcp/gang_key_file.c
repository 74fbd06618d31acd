/* SPDX-License-Identifier: Apache-2.0 */
/* gang_key_file.c - the key of a run out of a file. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/text.h"
#include "harness/world/tcp/gang.h"

#define FIRST_LINE "gradmark-keys 1\n"
#define JOIN_LINE "gradmark-join 1\nkey " /* gang_join_file.c */
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
