/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_library.c - find NCCL, load it, and say what was found. */
#include "allreduce/nccl_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/nccl_state.h"

enum { OLDEST_CODE = 21400 }; /* 2.14.0: communicators whose calls do not block */

/* Check the types of the members against the header; no function is linked. */
#define SAME_TYPE(member, function, type) \
    _Static_assert(_Generic(&(function), type : 1, default : 0) == 1, #function " has another type");
NCCL_LIST(SAME_TYPE)

void nccl_version_text(char *out, size_t n_bytes, int version_code)
{
    const int per_major = version_code < 10000 ? 1000 : 10000; /* nccl.h: NCCL_VERSION() */

    snprintf(out, n_bytes, "%d.%d.%d", version_code / per_major, version_code % per_major / 100, version_code % 100);
}

/* Loads it from `file`, or notes in why that it cannot be. */
static void *load(struct nccl_library *l, const char *file, char *why, size_t n_why_bytes)
{
    const size_t n_said = strlen(why);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    snprintf(l->file, sizeof l->file, "%s", file);
    if (!handle)
        snprintf(why + n_said, n_why_bytes - n_said, "%s%.160s", n_said > 0 ? "; " : "", dlerror());
    return handle;
}

static enum rc load_any(struct nccl_library *l, void **handle)
{
    static const char name[] = "libnccl.so.2", folder[] = GRADMARK_NCCL_FOLDER;
    const char *given = getenv("GRADMARK_NCCL_LIBRARY");
    char why[RC_MESSAGE_BYTES - 160] = "", built[512];

    if (given && given[0]) {
        *handle = load(l, given, why, sizeof why);
        return *handle ? RC_OK : rc_raise(RC_UNSUPPORTED, "GRADMARK_NCCL_LIBRARY names no NCCL: %s", why);
    }
    *handle = load(l, name, why, sizeof why);
    if (!*handle && folder[0]) {
        snprintf(built, sizeof built, "%s/%s", folder, name);
        *handle = load(l, built, why, sizeof why);
    }
    if (*handle)
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED,
                    "NCCL was not found: %s; LD_LIBRARY_PATH, or GRADMARK_NCCL_LIBRARY=FILE, says where it is", why);
}

#define FUNCTION_NAME(member, function, type) #function,
#define MEMBER_OFFSET(member, function, type) offsetof(struct nccl_library, member),

/* All functions of the list. */
static enum rc find_functions(struct nccl_library *l, void *handle)
{
    static const char *const name[] = { NCCL_LIST(FUNCTION_NAME) };
    static const size_t offset_bytes[] = { NCCL_LIST(MEMBER_OFFSET) };

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        void *address = dlsym(handle, name[i]);
        if (!address)
            return rc_raise(RC_UNSUPPORTED, "%.300s has no function %s: not NCCL, or too old", l->file, name[i]);
        memcpy((char *)l + offset_bytes[i], &address, sizeof address); /* data pointer to function pointer */
    }
    return RC_OK;
}

enum rc nccl_library_open(struct nccl_library *out)
{
    struct nccl_library l = { .version_code = 0 };
    char found[32], oldest[32];
    void *handle;
    enum rc rc;

    TRY(load_any(&l, &handle));
    TRY(find_functions(&l, handle));
    if (l.version(&l.version_code) != ncclSuccess)
        FAIL(RC_UNSUPPORTED, "%.300s does not tell its version", l.file);
    nccl_version_text(found, sizeof found, l.version_code);
    nccl_version_text(oldest, sizeof oldest, OLDEST_CODE);
    if (l.version_code < OLDEST_CODE)
        FAIL(RC_UNSUPPORTED, "%.300s is NCCL %s; needs %s or newer", l.file, found, oldest);
    *out = l;
out:
    return rc;
}

void nccl_state(char *out, size_t n_bytes)
{
    struct nccl_library l;
    char built[32], found[32];

    nccl_version_text(built, sizeof built, NCCL_VERSION_CODE);
    if (nccl_library_open(&l) != RC_OK) {
        snprintf(out, n_bytes, "built in for %s; cannot be used here: %s", built, rc_message());
        return;
    }
    nccl_version_text(found, sizeof found, l.version_code);
    snprintf(out, n_bytes, "built in for %s; %s is %s", built, l.file, found);
}
