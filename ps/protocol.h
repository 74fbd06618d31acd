/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the message tags of worker and server, to which the number of a slot is added (wire.P4), and of servers
 * among themselves (replica.h); the contents of the messages are in wire.h. */
#ifndef PS_PROTOCOL_H
#define PS_PROTOCOL_H

#include "harness/net/transport.h"

#define PS_TAG_REQUEST (TAG_ANY | 0x30u)
#define PS_TAG_REPLY 0x40u
#define PS_TAG_FORWARD (TAG_ANY | 0x50u)
#define PS_TAG_HELD (TAG_ANY | 0x51u)
#define PS_TAG_AUDIT (TAG_ANY | 0x52u)
/* Added to those of requests and replies as often as the server that holds the slice is behind the slice's home. */
#define PS_TAG_PLACE 0x100u

#endif
