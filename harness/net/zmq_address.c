/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_address.c - from where the ranks are to where they listen; the contract is in zmq_address.h. */
#include "harness/net/zmq_address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/base/folder.h"
#include "harness/world/child.h"
#include "harness/world/host_address.h"
#include "harness/world/world.h"

_Static_assert(ZMQ_SOCKET_PATH_BYTES == sizeof(((struct sockaddr_un *)NULL)->sun_path), "the longest path of a socket");

#define FOLDER_PATTERN "/gradmark-XXXXXX"
#define SOCKET_NAME "/s"
#define IPC "ipc://"
#define LOOPBACK "127.0.0.1"

enum { LIST_BYTES = 256, HOST_BYTES = 64 };

static enum rc raise_not_given(void)
{
    char list[LIST_BYTES], host[HOST_BYTES];

    host_address_list(list, sizeof list);
    child_host_name(host, sizeof host);
    return rc_raise(RC_INVAL,
                    "transport zmq: ranks are on several hosts, and --interface NAME|ADDRESS has to say where each is "
                    "reached; host %s has %s",
                    host, list);
}

static enum rc open_hosts(struct zmq_address *a, const char *interface, bool are_several)
{
    char address[HOST_ADDRESS_BYTES], list[LIST_BYTES];
    enum rc rc;

    TRY(host_address(address, interface));
    a->is_loopback = host_address_is_loopback(address);
    if (are_several && a->is_loopback) {
        host_address_list(list, sizeof list);
        FAIL(RC_INVAL, "--interface %.64s: is the loopback, which no other host reaches; this one has %s", interface,
             list);
    }
    (void)snprintf(a->text, sizeof a->text, "tcp://%s:*", address);
out:
    return rc;
}

static enum rc check_path(const char *parent)
{
    const size_t n_path_bytes = strlen(parent) + strlen(FOLDER_PATTERN SOCKET_NAME) + 1;

    if (parent[0] != '/')
        return rc_raise(RC_INVAL, "TMPDIR %.200s: is no absolute path, and ranks may be in other folders", parent);
    if (n_path_bytes > ZMQ_SOCKET_PATH_BYTES)
        return rc_raise(RC_INVAL,
                        "TMPDIR %.200s: the path of a socket in there has %zu bytes with its end, and %d are possible",
                        parent, n_path_bytes, ZMQ_SOCKET_PATH_BYTES);
    return RC_OK;
}

static enum rc open_host(struct zmq_address *a)
{
    const char *parent = folder_for_temporary();
    enum rc rc;

    TRY(check_path(parent));
    (void)snprintf(a->folder, sizeof a->folder, "%s" FOLDER_PATTERN, parent);
    if (!mkdtemp(a->folder)) { /* mode 0700 */
        const int error = errno;
        a->folder[0] = '\0';
        TRY(folder_refuse_temporary(error));
    }
    (void)snprintf(a->text, sizeof a->text, IPC "%s" SOCKET_NAME, a->folder);
out:
    return rc;
}

/* Will all ranks be on this host, in processes of their own, and none joins? Where that is not known: false. */
static bool is_one_host(const struct module *world)
{
    const struct launcher l = world_launcher();

    return !(world->caps & WORLD_SHARED_MEMORY) && l.n_host_ranks == l.n_ranks && !l.lets_join;
}

enum rc zmq_address_check_host(const struct module *world, const char *interface, enum zmq_wanted wanted)
{
    const bool has_interface = interface && interface[0] != '\0';
    char inside[ZMQ_SOCKET_PATH_BYTES + 2];
    enum rc rc = RC_OK;

    if (wanted != ZMQ_WANT_HOST && !(wanted == ZMQ_WANT_ANY && !has_interface && is_one_host(world)))
        return RC_OK;
    TRY(check_path(folder_for_temporary()));
    (void)snprintf(inside, sizeof inside, "%s/.", folder_for_temporary());
    if (access(inside, W_OK | X_OK) != 0)
        TRY(folder_refuse_temporary(errno));
out:
    return rc;
}

enum rc zmq_address_open(struct zmq_address *out, const struct world *w, enum zmq_wanted wanted)
{
    const bool are_several = w->n_host_ranks < w->n_ranks, has_interface = w->interface && w->interface[0] != '\0';

    *out = (struct zmq_address){ .reach = ZMQ_REACH_PROCESS };
    if (wanted == ZMQ_WANT_ANY && w->ops->module.caps & WORLD_SHARED_MEMORY) {
        (void)snprintf(out->text, sizeof out->text, "inproc://rank-%d", w->rank);
        return RC_OK;
    }
    if (wanted == ZMQ_WANT_HOST && are_several)
        return rc_raise(RC_INVAL, "transport ipc: ranks are on several hosts; use tcp");
    out->reach = wanted == ZMQ_WANT_TCP || (wanted == ZMQ_WANT_ANY && (are_several || has_interface)) ? ZMQ_REACH_HOSTS
                                                                                                      : ZMQ_REACH_HOST;
    if (out->reach == ZMQ_REACH_HOST)
        return open_host(out);
    if (are_several && !has_interface)
        return raise_not_given();
    return open_hosts(out, has_interface ? w->interface : LOOPBACK, are_several);
}

void zmq_address_remove(struct zmq_address *a)
{
    if (a->folder[0] == '\0')
        return;
    (void)unlink(a->text + strlen(IPC));
    (void)rmdir(a->folder);
    a->folder[0] = '\0';
}

enum rc zmq_address_check(const char *endpoint)
{
    if (strncmp(endpoint, IPC, strlen(IPC)) != 0 || access(endpoint + strlen(IPC), W_OK) == 0)
        return RC_OK;
    return rc_raise(RC_IO, "%s: %s; all ranks of a host need the same folder for temporary files", endpoint,
                    strerror(errno));
}
