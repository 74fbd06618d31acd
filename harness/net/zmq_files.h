/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_files.h - how many open files the sockets of a rank need. With too few, a process would take part in a run until
 * the first connection fails, without any report. Private to transport_zmq.c.
 */
#ifndef HARNESS_NET_ZMQ_FILES_H
#define HARNESS_NET_ZMQ_FILES_H

#include "harness/base/rc.h"
#include "harness/net/zmq_address.h"

enum {
    ZMQ_FILES_OF_A_PEER = 3,    /* a PUSH socket, its connection, and the peer's connection */
    ZMQ_FILES_OF_A_MONITOR = 2, /* of each peer, if connections are made again */
    ZMQ_FILES_SPARE = 64        /* for other files that a process opens later, including the listening socket */
};

/* Of a context: two each for its two threads; and a socket, which they open first. */
#define ZMQ_FILES_OF_A_CONTEXT 5

/* Raises the limit of open files of this process to its hard limit. Cannot fail. */
void zmq_files_raise(void);
/* RC_UNSUPPORTED: the limit of this process is too low for n_ranks that may all connect to each other. If ranks are
 * threads, RC_OK: their sockets are made when first used, and a failure is an error of that send. */
enum rc zmq_files_check(enum zmq_reach reach, int n_ranks) MUST_CHECK;
/* RC_UNSUPPORTED: this process can have no context with n_users receiving ranks, each from another one. Called before
 * there is one: ZeroMQ ends a process with too few files. */
enum rc zmq_files_check_context(int n_users) MUST_CHECK;

#endif
