/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.h - what a server does in an elastic run (leases.h). Does nothing if the run is not elastic. */
#ifndef PS_RECOVERY_ELASTIC_H
#define PS_RECOVERY_ELASTIC_H

#include "ps/recovery/recovery.h"

/* Does this slice own the work queue? */
bool server_has_book(const struct ps_server *s);

/* RC_NOMEM. */
enum rc server_open_leases(struct ps_server *s) MUST_CHECK;
void server_close_leases(struct ps_server *s);
/* RC_MISMATCH, *why: push a, with header h, is of a chunk that is not here, or of a batch that its worker may not
 * have. */
enum rc server_check_batch(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                           enum refused *why) MUST_CHECK;
/* NEXT, LEAVE or FETCH a, with header h. RC_MISMATCH, *why: the batch that it reports is not done, or NEXT is out of
 * order. */
enum rc server_check_done(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Is NEXT, JOIN or LEAVE a, with header h, in this server already? Its home was lost before it answered
 * (replica.R3). */
bool server_lease_is_again(const struct ps_server *s, const struct arrival *a, const struct ps_header *h);
/* Answers it, unless it is a NEXT that still waits. */
enum rc server_lease_again(struct ps_server *s, const struct arrival *a) MUST_CHECK;
/* Would a late joiner that joins now come too late (leases.B9)? */
bool server_joins_late(const struct ps_server *s);
/* Reports the end of each finished round to env.on_round. */
void server_tell_rounds(const struct ps_server *s);
/* Can a waiting NEXT be answered? Cheap. */
bool server_leases_are_due(const struct ps_server *s);
/* Answers the waiting NEXTs. */
enum rc server_answer_next(struct ps_server *s) MUST_CHECK;
/* RC_MISMATCH, *why: the JOIN of a late joiner is out of order. */
enum rc server_check_join(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* recovery_ops.left: the worker asks for nothing more; its batch may be assigned again. */
void server_end_lease(struct ps_server *s, int worker, bool is_loss);
/* recovery_ops.applied: the worker pushes its batch, or the one that it had ahead; then the one before is done. Adds
 * the next batch to the answer. false: the part has the gradient of this batch already (leases.B4). */
bool server_push_batch(struct ps_server *s, int worker, const struct ps_header *h, struct ps_header *answer);
/* Makes the change of NEXT, JOIN, LEAVE or FETCH a, with header h, in the queue, and in the server. */
enum rc server_serve_batch(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Fills in the facts of *out about batches, for all slices that the rank s holds. */
void server_batch_facts(const struct ps_server *s, struct server_facts *out);

#endif
