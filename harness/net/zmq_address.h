/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_address.h - the address a rank listens on. Private to transport_zmq.c. */
#ifndef HARNESS_NET_ZMQ_ADDRESS_H
#define HARNESS_NET_ZMQ_ADDRESS_H

#include <stddef.h>

#include "harness/base/rc.h"

struct world;

/* What zmq_bind() takes, any free port: inproc:// where ranks share memory, tcp://127.0.0.1:* where all
 * run on one host, else tcp:// on host_address(). RC_IO. */
enum rc zmq_address(char *out, size_t n_bytes, const struct world *w) MUST_CHECK;

#endif
