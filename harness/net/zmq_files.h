/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_files.h - how many open files the sockets of a rank need: a process that cannot have so many would take part in a
 * run until its first connection too many, which nobody is told of. Private to transport_zmq.c.
 */
#ifndef HARNESS_NET_ZMQ_FILES_H
#define HARNESS_NET_ZMQ_FILES_H

#include "harness/base/rc.h"
#include "harness/net/zmq_address.h"

enum {
    ZMQ_FILES_OF_A_PEER = 3,    /* a PUSH socket, its connection, and that of the peer's */
    ZMQ_FILES_OF_A_MONITOR = 2, /* of each peer, where connections are made again */
    ZMQ_FILES_SPARE = 64        /* for whatever else a process opens later, the socket that listens among it */
};

/* Of a context: its two threads have two each; and a socket, with which they begin. */
#define ZMQ_FILES_OF_A_CONTEXT 5

/* Let this process have as many open files as its hard limit allows. Cannot fail. */
void zmq_files_raise(void);
/* RC_UNSUPPORTED: n_ranks that may all connect to each other are too many for the limit of this process. Where ranks
 * are threads, RC_OK: their sockets are made when first used, and one that cannot be made is an error of that send. */
enum rc zmq_files_check(enum zmq_reach reach, int n_ranks) MUST_CHECK;
/* RC_UNSUPPORTED: this process can have no context of which n_users ranks receive, each from another one. Asked before
 * there is one: ZeroMQ ends a process that has too few. */
enum rc zmq_files_check_context(int n_users) MUST_CHECK;

#endif
