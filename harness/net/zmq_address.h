/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_address.h - the address a rank listens on. Private to transport_zmq.c.
 *
 *   ranks                            address
 *   of one process                   inproc://rank-R
 *   of one host                      ipc://FOLDER/s, in a folder of its own that no other user may enter
 *   of several hosts, or of one      tcp://ADDRESS:*, any free port, of the interface that --interface names
 *   and with --interface
 */
#ifndef HARNESS_NET_ZMQ_ADDRESS_H
#define HARNESS_NET_ZMQ_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct world;
struct module;

enum zmq_wanted {                /* whatever the ranks are, ... */
                  ZMQ_WANT_ANY,  /* as the table says */
                  ZMQ_WANT_HOST, /* ipc:// */
                  ZMQ_WANT_TCP,  /* tcp://, at the loopback where one host has all ranks and no --interface is given */
};
enum zmq_reach { ZMQ_REACH_PROCESS, ZMQ_REACH_HOST, ZMQ_REACH_HOSTS };

/* sizeof sockaddr_un.sun_path: a longer path, with its end, is refused. */
enum { ZMQ_SOCKET_PATH_BYTES = 108, ZMQ_ADDRESS_BYTES = 128 };

struct zmq_address { /* zeroed: none */
    enum zmq_reach reach;
    bool is_loopback;                   /* of ZMQ_REACH_HOSTS: no other host reaches it */
    char text[ZMQ_ADDRESS_BYTES];       /* for zmq_bind() */
    char folder[ZMQ_SOCKET_PATH_BYTES]; /* made by open(); "": none */
};

/* RC_INVAL: of several hosts, without --interface or with one that other hosts cannot reach (the message lists those
 * that this host has), or with ZMQ_WANT_HOST; TMPDIR (else /tmp) is no absolute path or too long for a socket, or no
 * folder can be made there. */
enum rc zmq_address_open(struct zmq_address *out, const struct world *w, enum zmq_wanted wanted) MUST_CHECK;
/* Before the world is there: can a socket that is a file be made, where open() would make one? RC_INVAL: TMPDIR. */
enum rc zmq_address_check_host(const struct module *world, const char *interface, enum zmq_wanted wanted) MUST_CHECK;
/* Remove folder and socket, if there are any: who has connected stays connected. May be called again; accepts a zeroed
 * one. */
void zmq_address_remove(struct zmq_address *a);

/* RC_IO: endpoint is of ipc://, and from here there is no such socket, or it cannot be used. */
enum rc zmq_address_check(const char *endpoint) MUST_CHECK;

#endif
