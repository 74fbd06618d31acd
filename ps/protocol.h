/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the message tags between workers and servers, to which the slot number is added (wire.P4), and between
 * servers (replica.h). The contents of the messages: wire.h. */
#ifndef PS_PROTOCOL_H
#define PS_PROTOCOL_H

#include "harness/net/transport.h"

#define PS_TAG_REQUEST (TAG_ANY | 0x30u)
#define PS_TAG_REPLY 0x40u
#define PS_TAG_FORWARD (TAG_ANY | 0x50u)
#define PS_TAG_HELD (TAG_ANY | 0x51u)
/* Added to the tags of requests and replies once for each server from the slice's home to its holder. */
#define PS_TAG_PLACE 0x100u

#endif
