/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_gate.c - a thread that answers ZAP requests and counts connections; the contract is in zmq_gate.h.
 *
 * ZeroMQ's I/O thread waits where a monitor's queue is full. So the gate's thread reads events from open() until the
 * guarded socket is closed, and does nothing that could keep it.
 *
 * ZeroMQ lets everybody in who knows the public key where nobody can be asked (ZAP): so the socket that is asked is
 * there before the guarded one listens, until after that is closed.
 */
#include "harness/net/zmq_gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zmq.h>

#define ZAP_ADDRESS "inproc://zeromq.zap.01"
#define ZAP_VERSION "1.0"
#define DOMAIN "gradmark"
#define USER "gradmark"

enum { HANDSHAKE_MS = 5000, NAME_BYTES = 64, PASSWORD_BYTES = 20, N_SLOTS = 3 };
enum { ASK_ADMIT = 'a', ASK_STOP = 's' };
enum { WATCHED = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED };

/* Of a ZAP request: the parts in their order. Credentials: of CURVE a key; of PLAIN a user and a password. */
enum {
    ZAP_PART_VERSION,
    ZAP_PART_REQUEST,
    ZAP_PART_DOMAIN,
    ZAP_PART_ADDRESS,
    ZAP_PART_IDENTITY,
    ZAP_PART_MECHANISM,
    ZAP_PART_CREDENTIAL,
    ZAP_PART_PASSWORD,
    ZAP_MOST_PARTS,
    ZAP_PART_BYTES = 256
};

struct zap_request {
    char part[ZAP_MOST_PARTS][ZAP_PART_BYTES];
    size_t n_bytes[ZAP_MOST_PARTS];
    int n_parts; /* more than ZAP_MOST_PARTS, or a longer one: ZAP_MOST_PARTS + 1 */
};

struct zmq_gate {
    void *context, *guarded;
    void *asks, *asked;  /* PAIR: from the owner, to the thread */
    void *zap, *monitor; /* REP, PAIR: the thread's */
    bool encrypts, is_running;
    struct curve_keys keys;
    char password[GATE_PASS_BYTES];
    pthread_mutex_t lock; /* of admitted */
    struct curve_set *admitted;
    pthread_t thread;
    atomic_uint_fast64_t n_outside;
};

static enum rc raise_gate(const char *what)
{
    return rc_raise(errno == ENOMEM ? RC_NOMEM : RC_IO, "transport zmq: %s: %s", what, zmq_strerror(errno));
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool set_text(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text)) == 0;
}

/* Keys, as CURVE_SERVERKEY and others take them, with their end. */
static bool set_key(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, CURVE_TEXT_BYTES) == 0;
}

/* --- the thread --- */

static bool receive_request(struct zap_request *out, void *zap)
{
    out->n_parts = 0;
    for (int more = 1; more;) {
        char part[ZAP_PART_BYTES];
        size_t more_bytes = sizeof more;
        const int n_bytes = zmq_recv(zap, part, sizeof part, 0);
        if (n_bytes < 0 || zmq_getsockopt(zap, ZMQ_RCVMORE, &more, &more_bytes) != 0)
            return false;
        if (out->n_parts < ZAP_MOST_PARTS && n_bytes <= ZAP_PART_BYTES) {
            memcpy(out->part[out->n_parts], part, (size_t)n_bytes);
            out->n_bytes[out->n_parts++] = (size_t)n_bytes;
        } else {
            out->n_parts = ZAP_MOST_PARTS + 1;
        }
    }
    return true;
}

static bool part_is(const struct zap_request *r, int part, const char *text)
{
    return part < r->n_parts && r->n_bytes[part] == strlen(text) && memcmp(r->part[part], text, strlen(text)) == 0;
}

/* Equal without a word on how much of it is. */
static bool is_password(const char *password, const char *given, size_t n_bytes)
{
    unsigned char differs = n_bytes != strlen(password);

    for (size_t i = 0; i < n_bytes && i < strlen(password); i++)
        differs |= (unsigned char)(password[i] ^ given[i]);
    return differs == 0;
}

static bool is_admitted(struct zmq_gate *g, const unsigned char *key)
{
    (void)pthread_mutex_lock(&g->lock);
    const bool is_in = curve_set_has(g->admitted, key);
    (void)pthread_mutex_unlock(&g->lock);
    return is_in;
}

static bool may_enter(struct zmq_gate *g, const struct zap_request *r)
{
    if (!part_is(r, ZAP_PART_VERSION, ZAP_VERSION) || !part_is(r, ZAP_PART_DOMAIN, DOMAIN))
        return false;
    if (g->encrypts)
        return part_is(r, ZAP_PART_MECHANISM, "CURVE") && r->n_parts == ZAP_PART_CREDENTIAL + 1 &&
               r->n_bytes[ZAP_PART_CREDENTIAL] == CURVE_KEY_BYTES &&
               is_admitted(g, (const unsigned char *)r->part[ZAP_PART_CREDENTIAL]);
    return part_is(r, ZAP_PART_MECHANISM, "PLAIN") && r->n_parts == ZAP_PART_PASSWORD + 1 &&
           part_is(r, ZAP_PART_CREDENTIAL, USER) &&
           is_password(g->password, r->part[ZAP_PART_PASSWORD], r->n_bytes[ZAP_PART_PASSWORD]);
}

/* Six parts: version, request, status, its text, user, metadata. */
static void answer_request(struct zmq_gate *g)
{
    struct zap_request r;

    if (!receive_request(&r, g->zap))
        return;
    const bool enters = may_enter(g, &r);
    const char *status = enters ? "200" : "400", *text = enters ? "OK" : "not of this run";
    const bool has_request = r.n_parts > ZAP_PART_REQUEST;
    (void)zmq_send(g->zap, ZAP_VERSION, strlen(ZAP_VERSION), ZMQ_SNDMORE);
    (void)zmq_send(g->zap, r.part[ZAP_PART_REQUEST], has_request ? r.n_bytes[ZAP_PART_REQUEST] : 0, ZMQ_SNDMORE);
    (void)zmq_send(g->zap, status, strlen(status), ZMQ_SNDMORE);
    (void)zmq_send(g->zap, text, strlen(text), ZMQ_SNDMORE);
    (void)zmq_send(g->zap, "", 0, ZMQ_SNDMORE);
    (void)zmq_send(g->zap, "", 0, 0);
}

/* net.Z4. An event has two parts: what it is, and an address. */
static void count_event(struct zmq_gate *g)
{
    char part[ZAP_PART_BYTES];

    while (zmq_recv(g->monitor, part, sizeof part, ZMQ_DONTWAIT) >= 0) {
        uint16_t event;
        memcpy(&event, part, sizeof event);
        if (event == ZMQ_EVENT_ACCEPTED)
            atomic_fetch_add_explicit(&g->n_outside, 1, memory_order_relaxed);
        else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            atomic_fetch_sub_explicit(&g->n_outside, 1, memory_order_relaxed);
        (void)zmq_recv(g->monitor, part, sizeof part, 0);
    }
}

static void *gate_main(void *arg)
{
    struct zmq_gate *g = arg;
    zmq_pollitem_t item[N_SLOTS] = { { .socket = g->asked, .events = ZMQ_POLLIN },
                                     { .socket = g->monitor, .events = ZMQ_POLLIN },
                                     { .socket = g->zap, .events = ZMQ_POLLIN } };
    int n_items = N_SLOTS - 1; /* net.Z1 */
    char asked = 0;

    while (asked != ASK_STOP) {
        if (zmq_poll(item, n_items, -1) < 0 && errno != EINTR)
            return NULL;
        count_event(g);
        if (n_items == N_SLOTS && (item[N_SLOTS - 1].revents & ZMQ_POLLIN))
            answer_request(g);
        if (zmq_recv(g->asked, &asked, 1, ZMQ_DONTWAIT) == 1 && asked == ASK_ADMIT)
            n_items = N_SLOTS;
    }
    return NULL;
}

/* --- its owner --- */

static enum rc make_secrets(struct zmq_gate *g, const struct curve_keys *keys)
{
    unsigned char random[PASSWORD_BYTES * 4 / 5];
    enum rc rc = RC_OK;

    if (g->encrypts && keys) {
        TRY(curve_check());
        g->keys = *keys;
    } else if (g->encrypts) {
        TRY(curve_keys_make(&g->keys));
    } else {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            FAIL(RC_IO, "transport zmq: no random numbers: %s", strerror(errno));
        (void)zmq_z85_encode(g->password, random, sizeof random);
    }
out:
    return rc;
}

static enum rc open_pair(struct zmq_gate *g, void **binds, void **connects, const char *what)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "inproc://gate-%s-%p", what, (void *)g);
    *connects = zmq_socket(g->context, ZMQ_PAIR);
    if (!*connects || !set_int(*connects, ZMQ_LINGER, 0))
        return raise_gate("no socket");
    if (!binds) /* of a monitor: the guarded socket does */
        return RC_OK;
    *binds = zmq_socket(g->context, ZMQ_PAIR);
    if (!*binds || !set_int(*binds, ZMQ_LINGER, 0) || zmq_bind(*binds, name) != 0 || zmq_connect(*connects, name) != 0)
        return raise_gate("no socket");
    return RC_OK;
}

enum rc zmq_gate_open(struct zmq_gate **out, void *context, bool encrypts, const struct curve_keys *keys)
{
    struct zmq_gate *g = calloc(1, sizeof *g);
    enum rc rc;

    if (!g)
        return rc_raise(RC_NOMEM, "transport zmq: no memory for a gate");
    (void)pthread_mutex_init(&g->lock, NULL); /* can't fail: of the default kind */
    g->context = context;
    g->encrypts = encrypts;
    TRY(make_secrets(g, keys));
    TRY(curve_set_open(&g->admitted));
    TRY(open_pair(g, &g->asked, &g->asks, "asks"));
    TRY(open_pair(g, NULL, &g->monitor, "monitor"));
    g->zap = zmq_socket(context, ZMQ_REP);
    if (!g->zap || !set_int(g->zap, ZMQ_LINGER, 0) || zmq_bind(g->zap, ZAP_ADDRESS) != 0)
        FAIL(RC_IO, "transport zmq: nobody can be asked who may connect: %s", zmq_strerror(errno));
    *out = g;
    g = NULL;
out:
    zmq_gate_close(&g);
    return rc;
}

bool zmq_gate_encrypts(const struct zmq_gate *g)
{
    return g->encrypts;
}

const char *zmq_gate_pass(const struct zmq_gate *g)
{
    return g->encrypts ? g->keys.public_text : g->password;
}

static bool set_listener(const struct zmq_gate *g, void *socket)
{
    if (!set_text(socket, ZMQ_ZAP_DOMAIN, DOMAIN) || !set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS))
        return false;
    if (!g->encrypts)
        return set_int(socket, ZMQ_PLAIN_SERVER, 1);
    return set_int(socket, ZMQ_CURVE_SERVER, 1) && set_key(socket, ZMQ_CURVE_SECRETKEY, g->keys.secret_text);
}

enum rc zmq_gate_guard(struct zmq_gate *g, void *socket)
{
    char name[NAME_BYTES];
    enum rc rc = RC_OK;

    (void)snprintf(name, sizeof name, "inproc://gate-monitor-%p", (void *)g);
    if (!set_listener(g, socket))
        FAIL(RC_IO, "transport zmq: a socket cannot be guarded: %s", zmq_strerror(errno));
    if (zmq_socket_monitor(socket, name, WATCHED) != 0 || zmq_connect(g->monitor, name) != 0)
        FAIL(RC_IO, "transport zmq: a socket cannot be watched: %s", zmq_strerror(errno));
    g->guarded = socket;
    const int error = pthread_create(&g->thread, NULL, gate_main, g);
    if (error != 0)
        FAIL(RC_NOMEM, "transport zmq: cannot start a thread: %s", strerror(error));
    g->is_running = true;
out:
    return rc;
}

void zmq_gate_leave(struct zmq_gate *g)
{
    if (g->guarded)
        (void)zmq_socket_monitor(g->guarded, NULL, 0);
    g->guarded = NULL;
}

static enum rc ask(struct zmq_gate *g, char what)
{
    while (zmq_send(g->asks, &what, 1, 0) < 0)
        if (errno != EINTR)
            return raise_gate("a gate's thread cannot be reached");
    return RC_OK;
}

enum rc zmq_gate_admit(struct zmq_gate *g, const char *const pass[], int n_passes)
{
    enum rc rc = RC_OK;

    (void)pthread_mutex_lock(&g->lock);
    for (int i = 0; g->encrypts && i < n_passes && rc == RC_OK; i++)
        rc = curve_set_add(g->admitted, pass[i]);
    (void)pthread_mutex_unlock(&g->lock);
    TRY(rc);
    TRY(ask(g, ASK_ADMIT));
out:
    return rc;
}

enum rc zmq_gate_enter(const struct zmq_gate *g, void *socket, const char *pass)
{
    const bool is_set = g->encrypts
                            ? set_key(socket, ZMQ_CURVE_SERVERKEY, pass) &&
                                  set_key(socket, ZMQ_CURVE_PUBLICKEY, g->keys.public_text) &&
                                  set_key(socket, ZMQ_CURVE_SECRETKEY, g->keys.secret_text)
                            : set_text(socket, ZMQ_PLAIN_USERNAME, USER) && set_text(socket, ZMQ_PLAIN_PASSWORD, pass);

    if (!is_set || !set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS))
        return rc_raise(RC_IO, "transport zmq: a socket cannot be given keys: %s", zmq_strerror(errno));
    return RC_OK;
}

uint64_t zmq_gate_n_outside(const struct zmq_gate *g)
{
    return atomic_load_explicit(&g->n_outside, memory_order_relaxed);
}

void zmq_gate_close(struct zmq_gate **gp)
{
    struct zmq_gate *g = gp ? *gp : NULL;

    if (!g)
        return;
    *gp = NULL;
    if (g->is_running && ask(g, ASK_STOP) == RC_OK)
        (void)pthread_join(g->thread, NULL); /* can't fail: started, joined once */
    void *const socket[] = { g->asks, g->asked, g->zap, g->monitor };
    for (size_t i = 0; i < sizeof socket / sizeof *socket; i++)
        if (socket[i])
            zmq_close(socket[i]);
    curve_set_close(&g->admitted);
    curve_keys_wipe(&g->keys);
    explicit_bzero(g->password, sizeof g->password);
    (void)pthread_mutex_destroy(&g->lock);
    free(g);
}
