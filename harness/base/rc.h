/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rc.h - the one error type of the project.
 *
 * Every function that can fail returns `enum rc` and is MUST_CHECK. The function
 * that first knows the cause calls rc_raise(), which stores a message and its
 * file:line in this thread; callers only pass the code up with TRY(). Only main()
 * prints or exits. A failed rank ends its group with world_abort(), never exit():
 * the other ranks are blocked waiting for it.
 *
 * Rules for a function body that acquires anything
 *   -   declare every owned pointer at the top, initialised to NULL;
 *   -   one label, `out:`, reached on success and on failure;
 *   -   every release function accepts NULL, and nulls what it is given.
 */
#ifndef HARNESS_BASE_RC_H
#define HARNESS_BASE_RC_H

#include <stdio.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

#define RC_LIST(X)                                          \
    X(OK, 0, "success")                                     \
    X(NOMEM, -1, "out of memory")                           \
    X(INVAL, -2, "invalid argument or option")              \
    X(IO, -3, "file or socket error")                       \
    X(TIMEOUT, -4, "peer did not answer in time")           \
    X(PEER, -5, "peer failed or left the group")            \
    X(DEVICE, -6, "CUDA or NCCL error")                     \
    X(UNSUPPORTED, -7, "not built in, or not on this host") \
    X(MISMATCH, -8, "ranks or results disagree")            \
    X(BUG, -9, "internal invariant broken")

enum rc {
#define X(id, val, text) RC_##id = val,
    RC_LIST(X)
#undef X
};

/* Longest message kept, in bytes with the terminator; longer ones are cut. */
enum { RC_MESSAGE_BYTES = 1024 };

/* Name ("RC_TIMEOUT") and sentence of a code; never NULL. Cannot fail. */
const char *rc_name(enum rc rc);
const char *rc_text(enum rc rc);

/* Record cause and place in this thread, forget the previous one, return `rc`. */
enum rc rc_raise_(enum rc rc, const char *file, int line, const char *fmt, ...) PRINTF_LIKE(4, 5);
#define rc_raise(rc_, ...) rc_raise_((rc_), __FILE__, __LINE__, __VA_ARGS__)

/* Puts the text of this format before an error's message, such as its option or row; a message that is too long is cut
 * at its end. The place of its cause stays. Returns rc; does nothing for RC_OK. */
enum rc rc_prefix(enum rc rc, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

/* This thread's last recorded message, "" if none. Lent until the next rc_raise() here. */
const char *rc_message(void);

/* Forget this thread's last recorded cause (a caller that handled the error). */
void rc_clear(void);

/* What is kept of an error. */
struct rc_record {
    char message[RC_MESSAGE_BYTES];
    struct rc_frame {
        const char *file, *call;
        int line;
    } frame[16];
    int n_frames;
};

/* The next errors of this thread are kept in `record`, and the last one is what is there; NULL: in the thread's own, as
 * at first. For coroutines, which each have one and take turns in a thread. Lent until the next call. */
void rc_keep_in(struct rc_record *record);

/* Print the call path of this thread's last cause, innermost first, one line each. */
void rc_print_trace(FILE *to);
void rc_trace_(const char *file, int line, const char *call);

/* Needs a local `enum rc rc` and a label `out`. */
#define TRY(call)                                 \
    do {                                          \
        rc = (call);                              \
        if (rc != RC_OK) {                        \
            rc_trace_(__FILE__, __LINE__, #call); \
            goto out;                             \
        }                                         \
    } while (0)

/* Raise and leave: for a check in a function that has `rc` and `out`. */
#define FAIL(rc_, ...)                   \
    do {                                 \
        rc = rc_raise(rc_, __VA_ARGS__); \
        goto out;                        \
    } while (0)

#endif
