/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gloo_allreduce.cc - Gloo behind functions of C; the contract is in gloo_allreduce.h.
 *
 * The library ends an operation early in one way alone: by an error of a connection. So give_up() shuts the connections
 * down, by descriptors of its own: copies of the library's, which are found by the addresses that it tells. (It could
 * be asked, but Debian's package lacks a header for that.)
 *
 * It writes to sockets whose other end may be gone, from its own thread too, and leaves SIGPIPE as it is, which would
 * end the process: threads that write have it blocked.
 */
#include "allreduce/gloo_allreduce.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace tcp = gloo::transport::tcp;

namespace
{

/* In gloo::rendezvous::Context a Store makes the exchange of addresses; here the caller does. */
struct Context : gloo::Context {
    using gloo::Context::Context;

    void use(std::shared_ptr<gloo::transport::Device> device, std::shared_ptr<gloo::transport::Context> inner)
    {
        device_ = std::move(device);
        transportContext_ = std::move(inner);
    }
};

/* While it lives, SIGPIPE is blocked in this thread, and in those that begin in it, for good. */
struct WithoutSigpipe {
    sigset_t before;

    WithoutSigpipe()
    {
        sigset_t pipe;

        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, &before);
    }
    ~WithoutSigpipe()
    {
        const struct timespec now = { 0, 0 };
        sigset_t pipe;

        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        while (!sigismember(&before, SIGPIPE) && sigtimedwait(&pipe, nullptr, &now) == SIGPIPE)
            continue; /* one that came meanwhile */
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
};

/* A socket, twice. */
struct Connection {
    int fd = -1;      /* a copy of the library's */
    std::string peer; /* its address, as the library writes it */

    Connection() = default;
    Connection(const Connection &) = delete;
    ~Connection()
    {
        if (fd >= 0)
            close(fd);
    }
};

} // namespace

struct gloo_group {
    struct gloo_setup setup;
    std::shared_ptr<gloo::transport::Device> device;
    std::shared_ptr<gloo::transport::Context> inner;
    std::shared_ptr<Context> context;
    std::vector<Connection> connection; /* to each rank, when all are connected; none to this one */
    std::size_t n_address_bytes = 0;
};

/* --- faults --- */

/* Is the address, which ends in a port, in the text as a whole? */
static bool names(const std::string &text, const std::string &address)
{
    const std::size_t at = text.find(address), end = at + address.size();

    return at != std::string::npos && (end >= text.size() || text[end] < '0' || text[end] > '9');
}

static int peer_in(const struct gloo_group *g, const std::string &text)
{
    for (std::size_t r = 0; g && r < g->connection.size(); r++)
        if (!g->connection[r].peer.empty() && names(text, g->connection[r].peer))
            return (int)r;
    return -1;
}

static void fill(struct gloo_fault *fault, const struct gloo_group *g, enum gloo_end end, const char *what)
{
    const char *place = std::strstr(what, "] "); /* "[pair.cc:598] " and what it is */
    const char *said = what[0] == '[' && place ? place + 2 : what;

    fault->end = end;
    fault->peer = -1;
    std::snprintf(fault->why, sizeof fault->why, "%s", said);
    try {
        fault->peer = peer_in(g, said);
    } catch (...) {
        return; /* no memory for a text: nobody is named */
    }
}

/* In a handler: what was thrown. */
static void explain(struct gloo_fault *fault, const struct gloo_group *g)
{
    try {
        throw;
    } catch (const std::bad_alloc &) {
        fill(fault, g, GLOO_NO_MEMORY, "no memory");
    } catch (const gloo::IoException &e) {
        const bool is_late = std::strstr(e.what(), "Timed out") || std::strstr(e.what(), "timeout");
        fill(fault, g, is_late ? GLOO_TIMED_OUT : GLOO_BROKEN, e.what());
    } catch (const std::exception &e) {
        fill(fault, g, GLOO_OTHER, e.what());
    } catch (...) {
        fill(fault, g, GLOO_OTHER, "an unknown exception");
    }
}

template <typename Work> static bool guarded(struct gloo_group *g, struct gloo_fault *fault, Work work)
{
    try {
        const WithoutSigpipe without;
        work();
        return true;
    } catch (...) {
        explain(fault, g);
        return false;
    }
}

/* --- the group --- */

static void open_sockets(struct gloo_group *g, unsigned char *own)
{
    /* The library lets a connection take five times the limit of its context. */
    const auto limit = std::chrono::milliseconds(g->setup.connect_ms / 5 + 1);

    g->device = tcp::CreateDevice(tcp::attr(g->setup.address));
    g->inner = g->device->createContext(g->setup.rank, g->setup.n_ranks);
    g->inner->setTimeout(limit);
    for (int r = 0; r < g->setup.n_ranks; r++) {
        if (r == g->setup.rank)
            continue;
        const std::vector<char> address = g->inner->createPair(r)->address().bytes();
        g->n_address_bytes = address.size();
        if (address.size() > GLOO_ADDRESS_BYTES)
            throw std::length_error("an address of Gloo's is longer than it says");
        std::memcpy(own + (std::size_t)r * GLOO_ADDRESS_BYTES, address.data(), address.size());
    }
}

extern "C" bool gloo_group_listen(struct gloo_group **out, const struct gloo_setup *setup, unsigned char *own,
                                  struct gloo_fault *fault)
{
    struct gloo_group *g = nullptr;

    *out = nullptr;
    if (!guarded(nullptr, fault, [&] { g = new gloo_group{}; }))
        return false;
    g->setup = *setup;
    if (!guarded(g, fault, [&] { open_sockets(g, own); })) {
        gloo_group_close(&g);
        return false;
    }
    *out = g;
    return true;
}

/* Copies the library's descriptor, whose own address this is. */
static void find_socket(Connection &c, const std::string &own)
{
    const std::unique_ptr<DIR, int (*)(DIR *)> open_files(opendir("/proc/self/fd"), closedir);

    while (const struct dirent *entry = open_files ? readdir(open_files.get()) : nullptr) {
        const int fd = std::atoi(entry->d_name);
        struct sockaddr_storage address = {}, peer = {};
        socklen_t n_bytes = sizeof address, n_peer_bytes = sizeof peer;

        if (getsockname(fd, (struct sockaddr *)&address, &n_bytes) != 0 || address.ss_family != AF_INET ||
            tcp::Address(address).str() != own || getpeername(fd, (struct sockaddr *)&peer, &n_peer_bytes) != 0)
            continue;
        c.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        c.peer = tcp::Address(peer).str();
        break;
    }
    if (c.fd < 0)
        throw std::runtime_error("the socket at " + own + " is not among the open files");
}

static void connect_all(struct gloo_group *g, const unsigned char *all)
{
    const std::size_t n = (std::size_t)g->setup.n_ranks;
    std::vector<Connection> connection(n);

    for (int r = 0; r < g->setup.n_ranks; r++) {
        const unsigned char *address = all + ((std::size_t)r * n + (std::size_t)g->setup.rank) * GLOO_ADDRESS_BYTES;
        if (r == g->setup.rank)
            continue;
        g->inner->getPair(r)->connect(std::vector<char>(address, address + g->n_address_bytes));
        find_socket(connection[(std::size_t)r], g->inner->getPair(r)->address().str());
    }
    g->connection.swap(connection);
    g->inner->setTimeout(std::chrono::milliseconds(g->setup.run_ms));
    g->context = std::make_shared<Context>(g->setup.rank, g->setup.n_ranks);
    g->context->setTimeout(std::chrono::milliseconds(g->setup.run_ms));
    g->context->use(g->device, g->inner);
}

extern "C" bool gloo_group_connect(struct gloo_group *g, const unsigned char *all, struct gloo_fault *fault)
{
    return guarded(g, fault, [&] { connect_all(g, all); });
}

extern "C" void gloo_group_give_up(struct gloo_group *g)
{
    for (const Connection &c : g->connection)
        if (c.fd >= 0)
            (void)shutdown(c.fd, SHUT_RDWR);
}

extern "C" void gloo_group_close(struct gloo_group **g)
{
    struct gloo_fault ignored;

    if (!*g)
        return;
    (void)guarded(nullptr, &ignored, [&] { delete *g; });
    *g = nullptr;
}

/* --- operations --- */

extern "C" bool gloo_group_sum(struct gloo_group *g, float *data, const float *input, size_t n_elems,
                               struct gloo_fault *fault)
{
    return guarded(g, fault, [&] {
        using Add = void (*)(void *, const void *, const void *, std::size_t);
        gloo::AllreduceOptions options(g->context);

        if (input)
            options.setInput(const_cast<float *>(input), n_elems); // only read
        options.setOutput(data, n_elems);
        options.setReduceFunction(static_cast<Add>(&gloo::sum<float>));
        gloo::allreduce(options);
    });
}

extern "C" bool gloo_group_gather(struct gloo_group *g, float *data, const size_t *n_each, struct gloo_fault *fault)
{
    return guarded(g, fault, [&] {
        gloo::AllgathervOptions options(g->context);

        options.setOutput(data, std::vector<std::size_t>(n_each, n_each + g->setup.n_ranks));
        gloo::allgatherv(options);
    });
}

extern "C" bool gloo_group_broadcast(struct gloo_group *g, float *data, size_t n_elems, int root,
                                     struct gloo_fault *fault)
{
    return guarded(g, fault, [&] {
        gloo::BroadcastOptions options(g->context);

        options.setOutput(data, n_elems);
        options.setRoot(root);
        gloo::broadcast(options);
    });
}
