/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_opening_test.c - a process is killed while its world opens, at each moment of that (world.G4): every other
 * process ends, and says who was lost.
 *
 * Ranks are processes of this program. Those but rank 0 reach the hub by way of this one, which forwards what they say
 * part by part (world.N1, N2: what a part is can be seen without the key) and, once it has forwarded so many of rank 1,
 * kills one of them by SIGKILL. What rank 1 says last before its world is open is TCP_BEGIN, so without its last part
 * no world is open.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/suite/unit.h"
#include "harness/world/suite/loopback.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_tcp;

#define MEMBERS "worker@127.0.0.1:1,worker@127.0.0.1:2,ps@127.0.0.1:3"
#define BEGUN "has begun\n"
#define LIMIT_NS UINT64_C(60000000000) /* a process that has not ended then hangs */

enum {
    N_RANKS = 3,
    HELLO_PARTS = 4, /* by which the hub knows who has connected: two of the stream, two of TCP_HELLO */
    MOST_PARTS = 1000,
    PART_BYTES = 1 << 17,
    SAID_BYTES = 1024,
    FAILS = 1,
};

static const char *const member_names[N_RANKS] = { "worker 0 at 127.0.0.1:1", "worker 1 at 127.0.0.1:2",
                                                   "ps 0 at 127.0.0.1:3" };

/* --- a rank: tcp_opening_test rank abort|report --- */

static enum rc body(struct world *w, void *arg)
{
    struct world *left = NULL;
    enum rc rc;

    (void)arg;
    (void)!write(STDOUT_FILENO, BEGUN, strlen(BEGUN));
    for (; w->rank == 1; world_pause(w, 1000000)) { /* until it is killed, or the run has failed */
        world_tick(w);
        TRY(world_check(w));
    }
    if (w->on_loss == ON_LOSS_ABORT)
        return world_barrier(w);
    TRY(world_survivors(w, &left));
    printf("goes on with %d\n", left->n_ranks);
    world_split_close(&left);
out:
    return rc;
}

static int be_rank(const char *on_loss)
{
    struct world_opts opts = { .bind_cores = true };

    if (strcmp(on_loss, "report") == 0) {
        opts.on_loss = ON_LOSS_REPORT;
        opts.stall = (struct peer_opts){ .warn_ns = LIMIT_NS, .abort_ns = 2 * LIMIT_NS };
    }
    const enum rc rc = world_run(&world_tcp, &opts, 0, body, NULL);
    if (rc != RC_OK)
        printf("%s\n", rc_message());
    return rc == RC_OK ? 0 : FAILS;
}

/* --- what is between a rank and the hub --- */

struct path {
    int listening_fd, rank_fd, hub_fd; /* -1: not yet, or not any more */
    int most_parts, n_parts;           /* of the rank */
    size_t n_in;
    unsigned char in[PART_BYTES];
};

struct run {
    const char *on_loss;
    int victim, most_parts; /* of rank 1, before it is killed; -1: nobody is before all have begun */
    int held_parts;         /* of rank 2 until then, so that the gang is not there yet; 0: it is not held */
    int hub_listens_fd;
    uint16_t hub_port;
    struct path path[N_RANKS];
    pid_t pid[N_RANKS]; /* -1: it is reaped */
    int said_fd[N_RANKS], exit_code[N_RANKS];
    char said[N_RANKS][SAID_BYTES];
    bool is_killed;
    uint64_t began_ns;
};

static int listen_anywhere(uint16_t *port)
{
    const int fd = loopback_bind(port);

    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* What the hub has said by now reaches the rank, as it would without this process between them. */
static void end_path(struct path *p)
{
    static unsigned char bytes[PART_BYTES];

    for (ssize_t n; p->hub_fd >= 0 && p->rank_fd >= 0 && (n = recv(p->hub_fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
        if (send(p->rank_fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    if (p->rank_fd >= 0)
        (void)close(p->rank_fd);
    if (p->hub_fd >= 0)
        (void)close(p->hub_fd);
    p->rank_fd = p->hub_fd = -1;
}

static void accept_rank(const struct run *run, struct path *p)
{
    const int on = 1;

    p->rank_fd = accept4(p->listening_fd, NULL, NULL, SOCK_CLOEXEC);
    p->hub_fd = loopback_dial(run->hub_port);
    (void)close(p->listening_fd);
    p->listening_fd = -1;
    (void)setsockopt(p->rank_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(p->hub_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (p->hub_fd < 0)
        end_path(p); /* rank 0 has ended */
}

/* Bytes of the part that p->in begins with; 0: as many as are there do not say. */
static size_t part_bytes(const struct path *p)
{
    if (p->n_parts < 2)
        return p->n_parts == 0 ? 56 : 24;
    return p->n_in < 4 ? 0 : 4 + (size_t)bytes_get(p->in, 4);
}

/* As many whole parts as may pass. */
static void forward_parts(struct path *p)
{
    size_t n;

    while (p->hub_fd >= 0 && p->n_parts < p->most_parts && (n = part_bytes(p)) > 0 && p->n_in >= n) {
        if (send(p->hub_fd, p->in, n, MSG_NOSIGNAL) != (ssize_t)n)
            end_path(p);
        p->n_parts++;
        p->n_in -= n;
        memmove(p->in, p->in + n, p->n_in);
    }
}

static void tend_path(struct path *p, bool rank_speaks, bool hub_speaks)
{
    static unsigned char bytes[PART_BYTES];

    if (hub_speaks) {
        const ssize_t n = recv(p->hub_fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n <= 0 || send(p->rank_fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            end_path(p);
    }
    if (rank_speaks && p->rank_fd >= 0) {
        const ssize_t n = recv(p->rank_fd, p->in + p->n_in, sizeof p->in - p->n_in, MSG_DONTWAIT);
        if (n <= 0)
            end_path(p);
        else
            p->n_in += (size_t)n;
    }
    forward_parts(p);
}

/* --- a run --- */

static void start_rank(struct run *run, int rank, uint16_t port)
{
    char root[32], number[16], here[16], listens[16];
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(root, sizeof root, "127.0.0.1:%d", port);
    (void)snprintf(number, sizeof number, "%d", rank);
    (void)snprintf(here, sizeof here, "%d/%d", rank, N_RANKS);
    (void)snprintf(listens, sizeof listens, "%d", run->hub_listens_fd);
    run->pid[rank] = fork();
    assert_true(run->pid[rank] >= 0);
    if (run->pid[rank] == 0) {
        (void)setenv("GRADMARK_GANG_MEMBERS", MEMBERS, 1);
        (void)setenv("GRADMARK_GANG_RANK", number, 1);
        (void)setenv("GRADMARK_GANG_HERE", here, 1);
        (void)setenv("GRADMARK_GANG_ROOT", root, 1);
        (void)setenv("GRADMARK_GANG_START_S", "30", 1);
        (void)setenv("GRADMARK_GANG_KEY", "open", 1);
        if (rank == 0) {
            (void)setenv("GRADMARK_GANG_LISTENS", listens, 1);
            (void)fcntl(run->hub_listens_fd, F_SETFD, 0);
        }
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "tcp_opening_test", "rank", run->on_loss, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    run->said_fd[rank] = ends[0];
}

static void read_said(struct run *run, int rank)
{
    const size_t n_said = strlen(run->said[rank]);
    const ssize_t n = read(run->said_fd[rank], run->said[rank] + n_said, SAID_BYTES - 1 - n_said);

    if (n <= 0) {
        (void)close(run->said_fd[rank]);
        run->said_fd[rank] = -1;
    }
}

static bool has_begun(const struct run *run, int rank)
{
    return strstr(run->said[rank], BEGUN) != NULL;
}

static bool is_time(const struct run *run)
{
    if (run->most_parts < 0)
        return has_begun(run, 0) && has_begun(run, 1) && has_begun(run, 2);
    if (run->path[1].n_parts != run->most_parts || run->path[2].hub_fd < 0)
        return false;
    return run->held_parts > 0 ? run->path[2].n_parts == run->held_parts : run->path[2].n_parts >= HELLO_PARTS;
}

static void pass(struct run *run)
{
    struct pollfd p[3 * N_RANKS];

    for (int r = 0; r < N_RANKS; r++) {
        p[3 * r] = (struct pollfd){ .fd = run->said_fd[r], .events = POLLIN };
        p[3 * r + 1] = (struct pollfd){ .fd = run->path[r].hub_fd, .events = POLLIN };
        p[3 * r + 2] = (struct pollfd){ .fd = run->path[r].rank_fd, .events = POLLIN };
        if (run->path[r].listening_fd >= 0)
            p[3 * r + 2].fd = run->path[r].listening_fd;
    }
    (void)poll(p, 3 * N_RANKS, 10);
    for (int r = 0; r < N_RANKS; r++) {
        if (p[3 * r].revents)
            read_said(run, r);
        if (p[3 * r + 2].revents && run->path[r].listening_fd >= 0)
            accept_rank(run, &run->path[r]);
        else if (run->path[r].rank_fd >= 0)
            tend_path(&run->path[r], p[3 * r + 2].revents, p[3 * r + 1].revents);
    }
}

static bool reap(struct run *run)
{
    bool are_all = true;

    for (int r = 0; r < N_RANKS; r++) {
        int status;
        if (run->pid[r] > 0 && waitpid(run->pid[r], &status, WNOHANG) == run->pid[r]) {
            run->pid[r] = -1;
            run->exit_code[r] = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        are_all = are_all && run->pid[r] < 0 && run->said_fd[r] < 0;
    }
    return are_all;
}

/* Until all processes have ended, one of them by SIGKILL. A process that hangs is named, and so fails the test. */
static void run_and_kill(struct run *run)
{
    uint16_t port[N_RANKS];

    run->began_ns = wait_clock_ns();
    run->hub_listens_fd = listen_anywhere(&run->hub_port);
    for (int r = 0; r < N_RANKS; r++) {
        run->path[r] = (struct path){ .listening_fd = -1, .rank_fd = -1, .hub_fd = -1, .most_parts = MOST_PARTS };
        port[r] = run->hub_port;
        if (r > 0)
            run->path[r].listening_fd = listen_anywhere(&port[r]);
    }
    if (run->most_parts >= 0)
        run->path[1].most_parts = run->most_parts;
    if (run->held_parts > 0)
        run->path[2].most_parts = run->held_parts;
    for (int r = 0; r < N_RANKS; r++)
        start_rank(run, r, port[r]);
    (void)close(run->hub_listens_fd);
    while (!reap(run)) {
        const bool hangs = wait_clock_ns() - run->began_ns > LIMIT_NS;
        pass(run);
        if (!run->is_killed && is_time(run)) {
            assert_int_equal(kill(run->pid[run->victim], SIGKILL), 0);
            run->is_killed = true;
            run->path[2].most_parts = MOST_PARTS;
        }
        for (int r = 0; r < N_RANKS && hangs; r++)
            if (run->pid[r] > 0) {
                print_message("rank %d hangs\n", r);
                (void)kill(run->pid[r], SIGKILL);
            }
    }
    for (int r = 0; r < N_RANKS; r++) {
        end_path(&run->path[r]);
        if (run->path[r].listening_fd >= 0)
            (void)close(run->path[r].listening_fd);
    }
}

static void assert_said(const struct run *run, int rank, int exit_code, const char *words, const char *or_words)
{
    if (run->exit_code[rank] != exit_code || (!strstr(run->said[rank], words) && !strstr(run->said[rank], or_words)))
        fail_msg("--on-loss %s, rank %d killed after part %d: rank %d ends with %d and says '%s', not '%s'",
                 run->on_loss, run->victim, run->most_parts, rank, run->exit_code[rank], run->said[rank], words);
}

/* How many parts rank 1 sends until its world is open. Killed behind that, it is lost as any rank is later. */
static int count_parts(const char *on_loss)
{
    static struct run run;
    const bool goes_on = strcmp(on_loss, "report") == 0;
    const char *words = goes_on ? "goes on with 2" : "rank 1: ended before its work was done";

    run = (struct run){ .on_loss = on_loss, .victim = 1, .most_parts = -1 };
    run_and_kill(&run);
    assert_int_equal(run.exit_code[1], 128 + SIGKILL);
    assert_said(&run, 0, goes_on ? 0 : FAILS, words, words);
    assert_said(&run, 2, goes_on ? 0 : FAILS, words, words);
    return run.path[1].n_parts;
}

/* Before TCP_GO a rank knows of rank 0 no more than that it has connected to it; and who says who it is when rank 0 has
 * ended for the loss of another one hears no more than that, but for the seconds in which rank 0 waits for it. */
static void assert_all_named(const struct run *run)
{
    char words[128], early[64];

    (void)snprintf(words, sizeof words, "rank %d (%s): ended before its work was done, while the run began",
                   run->victim, member_names[run->victim]);
    (void)snprintf(early, sizeof early, "rank 0 at 127.0.0.1:");
    for (int r = 0; r < N_RANKS; r++)
        if (r != run->victim)
            assert_said(run, r, FAILS, words, run->victim == 0 || (r == 2 && run->held_parts > 0) ? early : words);
    for (int r = 0; r < N_RANKS; r++)
        assert_false(has_begun(run, r));
    assert_int_equal(run->exit_code[run->victim], 128 + SIGKILL);
}

UNIT_TEST(who_is_killed_is_named_before_all_are_there_G4)
{
    static struct run run;

    for (int held = 1; held < HELLO_PARTS; held++)
        for (int victim = 0; victim < 2; victim++) {
            run = (struct run){ .on_loss = "abort", .victim = victim, .most_parts = HELLO_PARTS, .held_parts = held };
            run_and_kill(&run);
            assert_all_named(&run);
        }
}

UNIT_TEST(who_is_killed_is_named_at_each_moment_G4)
{
    static const char *const policies[] = { "abort", "report" };
    static struct run run;

    for (int i = 0; i < 2; i++) {
        const int n_parts = count_parts(policies[i]);
        print_message("--on-loss %s: %d parts\n", policies[i], n_parts);
        assert_true(n_parts > HELLO_PARTS + 4 && n_parts < MOST_PARTS);
        for (int n = HELLO_PARTS; n < n_parts; n++)
            for (int victim = 0; victim < 2; victim++) {
                run = (struct run){ .on_loss = policies[i], .victim = victim, .most_parts = n };
                run_and_kill(&run);
                assert_all_named(&run);
            }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0)
        return be_rank(argv[2]);
    return unit_run("tcp_opening", NULL, NULL, NULL);
}
