/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_address.h - the address a rank listens on. Private to transport_zmq.c.
 *
 *   ranks                            address
 *   of one process                   inproc://rank-R
 *   of one host                      ipc://FOLDER/s, in a private folder that no other user may enter
 *   of several hosts, or of one      tcp://ADDRESS:*, any free port, of the interface that --interface names
 *   with --interface
 */
#ifndef HARNESS_NET_ZMQ_ADDRESS_H
#define HARNESS_NET_ZMQ_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct world;
struct module;

enum zmq_wanted {                /* for any ranks, ... */
                  ZMQ_WANT_ANY,  /* as the table says */
                  ZMQ_WANT_HOST, /* ipc:// */
                  ZMQ_WANT_TCP,  /* tcp://, at the loopback if all ranks are on one host and there is no --interface */
};
enum zmq_reach { ZMQ_REACH_PROCESS, ZMQ_REACH_HOST, ZMQ_REACH_HOSTS };

/* sizeof sockaddr_un.sun_path: a longer path, with its terminator, is refused. */
enum { ZMQ_SOCKET_PATH_BYTES = 108, ZMQ_ADDRESS_BYTES = 128 };

struct zmq_address { /* zeroed: none */
    enum zmq_reach reach;
    bool is_loopback;                   /* of ZMQ_REACH_HOSTS: unreachable from other hosts */
    char text[ZMQ_ADDRESS_BYTES];       /* for zmq_bind() */
    char folder[ZMQ_SOCKET_PATH_BYTES]; /* made by open(); "": none */
};

/* RC_INVAL: several hosts without --interface, or with one that other hosts cannot reach (the message lists those of
 * this host), or with ZMQ_WANT_HOST; or TMPDIR (else /tmp) is not an absolute path, or too long for a socket, or allows
 * no new folder. */
enum rc zmq_address_open(struct zmq_address *out, const struct world *w, enum zmq_wanted wanted) MUST_CHECK;
/* Called before there is a world: can a socket file be made, if open() needs one? RC_INVAL: TMPDIR. */
enum rc zmq_address_check_host(const struct module *world, const char *interface, enum zmq_wanted wanted) MUST_CHECK;
/* Removes folder and socket, if there are any; existing connections remain. May be called again; accepts a zeroed
 * one. */
void zmq_address_remove(struct zmq_address *a);

/* RC_IO: endpoint is of ipc://, and its socket does not exist here, or cannot be used. */
enum rc zmq_address_check(const char *endpoint) MUST_CHECK;

#endif
