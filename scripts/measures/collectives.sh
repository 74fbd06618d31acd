# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# collectives - the collectives beside MPI, Gloo, the memory's ceiling and bare TCP streams
about="Runs gradmark comm allreduce with 2 ranks on this machine, in threads and under mpirun, by every algorithm that can run there, and once
more under mpirun with malloc tuned for MPI (it keeps what is freed, and asks for huge pages). Then on hosts of network namespaces (as
root), each behind a link of RATE, with a rank each, in turns with bare TCP streams around the same ring. Prints the bus bandwidth of
each, and ratios to the ceiling of the memory, to MPI and to the streams.

With --peers it measures libraries beside their own benchmarks instead: gloo beside PyTorch, mpi beside mpi4py and osu_allreduce, nccl
beside nccl-tests, 2 ranks, in rounds. It prints which cannot run here. All have their data in huge pages. Prints times and ratios, and whether they are
within 20 %; a library that differs is a broken promise."
option hosts N 4 0-32 'hosts; 0: none'
option rate RATE 1gbit any 'rate of each link, as for scripts/hosts'
option bytes LIST '' any 'sizes on this machine; default: 4Ki,64Ki,1Mi,64Mi,256Mi, with --peers 4Ki,64Ki,1Mi,16Mi'
option host-bytes LIST 4,1Ki,16Ki,64Ki,256Ki,1Mi,4Mi,64Mi any 'sizes on the hosts'
option budget-s N '' 1-3600 'seconds of each run; default: 60, with --peers 4'
option launches N 3 1-99 'launches on the hosts'
option peers PYTHON '' any 'a Python that has torch and mpi4py: python3 -m venv V; V/bin/pip install torch mpi4py'
option osu FILE '' any 'osu_allreduce of the OSU Micro-Benchmarks; without it mpi4py is alone'
option nccl-tests FILE '' any 'all_reduce_perf of nccl-tests; needs 2 GPUs'
option rounds N 5 1-99 'rounds of --peers'

check() {
    local o
    [ "$hosts" -ne 1 ] || refuse '--hosts 1: must be 0, or a whole number from 2 to 32'
    if [ -n "$peers" ]; then
        for o in peers osu nccl_tests; do
            [ -z "${!o}" ] || [ -n "$(command -v -- "${!o}")" ] || refuse "--${o/_/-}: ${!o} is no program; see --help"
        done
        # A virtual environment's Python is a link: it stays one.
        peers=$(command -v -- "$peers")
        case $peers in /*) ;; *) peers=$PWD/$peers ;; esac
        [ -z "$osu" ] || osu=$(realpath "$(command -v -- "$osu")")
        [ -z "$nccl_tests" ] || nccl_tests=$(realpath "$(command -v -- "$nccl_tests")")
        bytes=${bytes:-4Ki,64Ki,1Mi,16Mi} budget_s=${budget_s:-4}
    elif [ -n "$osu$nccl_tests" ]; then
        refuse '--osu and --nccl-tests go with --peers PYTHON'
    fi
    bytes=${bytes:-4Ki,64Ki,1Mi,64Mi,256Mi} budget_s=${budget_s:-60}
}

# Buffers that MPI allocates anew for each call are given back to the system by malloc's defaults, and their pages made again.
tuned_malloc=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1
largest=67108864

comm() { # NAME COMMAND...: its records in NAME.jsonl
    tell "$1"
    launch "$1" "${@:2}" --budget-s "$budget_s" --records "$1.jsonl"
}

# Around the ring of hosts, as many bytes as an allreduce of the largest size sends: the slowest host's time.
streams() {
    local code=0 took_s
    tell "streams $1"
    took_s=$("$scripts/hosts" "$hosts" "$rate" mpirun -np "$hosts" python3 "$PWD/stream.py" $largest 2>log.txt | tail -n 1) || code=$?
    if [ $code -ne 0 ] || ! [[ $took_s =~ ^[0-9.]+$ ]]; then ended $((code ? code : 1)) streams; fi
    printf '%d,%s,%d\n' "$1" "$took_s" $largest >>streams.csv
}

launches() {
    local i
    [ -z "$peers" ] || return 0
    comm threads "$program" comm allreduce --world threads --workers 2 --bytes "$bytes" --chart threads.png
    if "$program" info | grep '^worlds.* mpi' >/dev/null; then
        comm mpi mpirun -np 2 "$program" comm allreduce --bytes "$bytes" --chart mpi.png
        comm mpi-tuned env GLIBC_TUNABLES="$tuned_malloc" mpirun -np 2 "$program" comm allreduce --reducer shm,mpi --bytes "$bytes"
    fi
    [ "$hosts" -gt 0 ] || return 0
    cat >stream.py <<'PYTHON'
import os, socket, sys, threading, time
rank, n = int(os.environ['OMPI_COMM_WORLD_RANK']), int(os.environ['OMPI_COMM_WORLD_SIZE'])
n_bytes = int(sys.argv[1]) * 2 * (n - 1) // n
listener = socket.create_server(('10.231.0.%d' % (rank + 1), 18515))
def connect():
    for _ in range(500):
        try:
            return socket.create_connection(('10.231.0.%d' % ((rank + 1) % n + 1), 18515))
        except OSError:
            time.sleep(0.02)
    sys.exit('no connection')
out = connect()
into, _ = listener.accept()
chunk = memoryview(bytearray(1 << 20))
def send(left):
    while left > 0:
        left -= out.send(chunk[:min(left, len(chunk))])
def receive(left):
    room = bytearray(1 << 20)
    while left > 0:
        got = into.recv_into(room, min(left, len(room)))
        if got == 0:
            sys.exit('the stream ended early')
        left -= got
def both(n_bytes):
    t = threading.Thread(target=send, args=(n_bytes,))
    t.start()
    receive(n_bytes)
    t.join()
for _ in range(2 * n):  # all have come
    both(64)
started = time.monotonic()
both(n_bytes)
for _ in range(n):  # all have done
    both(64)
if rank == 0:
    print(time.monotonic() - started)
PYTHON
    printf 'launch,seconds,bytes\n' >streams.csv
    for ((i = 1; i <= launches; i++)); do
        streams "$i"
        comm "hosts-$i" "$scripts/hosts" "$hosts" "$rate" mpirun -np "$hosts" "$program" comm allreduce --interface eth0 --wait sleep \
            --bytes "$host_bytes" --no-out-of-place --chart "hosts-$i.png"
    done
    rm stream.py
}

table() {
    if [ -n "$peers" ]; then # gradmark has its data in huge pages; so has everybody then
        GLIBC_TUNABLES="$tuned_malloc" python3 "$scripts/peers/collectives.py" --program "$program" --peers "$peers" --osu "$osu" --nccl-tests "$nccl_tests" \
            --bytes "$bytes" --budget-s "$budget_s" --rounds "$rounds"
        return
    fi
    python3 - "$hosts" "$rate" <<'PYTHON'
import csv, glob, json, os, statistics, sys
hosts, rate = int(sys.argv[1]), sys.argv[2]
def size(n):
    for unit, name in ((1 << 20, 'Mi'), (1 << 10, 'Ki')):
        if n >= unit:
            return '%d %sB' % (n // unit, name)
    return '%d B' % n
def rates(paths):  # {reducer: {bytes: [busbw of each run]}}; the ceiling counts as one
    out = {}
    for path in paths:
        for r in map(json.loads, open(path)):
            if r['kind'] in ('row', 'ceiling'):
                name = r.get('reducer', 'ceiling')
                out.setdefault(name, {}).setdefault(r['bytes_count'], []).append(r['busbw_bytes_per_s'])
    return out
def table(title, of):
    sizes = sorted({n for by in of.values() for n in by})
    print('\n%s: busbw, GB/s' % title)
    print('%10s' % '' + ''.join('%18s' % name for name in of))
    for n in sizes:
        print('%10s' % size(n) + ''.join('%18s' % ('%.4g' % (statistics.median(by[n]) / 1e9) if n in by else '-') for by in of.values()))
    return sizes
def ratios(of, name, beside, what):
    for n in sorted(of.get(name, {})):
        if n in of.get(beside, {}):
            print('%s of %s: %.3g of %s' % (name, size(n), statistics.median(of[name][n]) / statistics.median(of[beside][n]), what))
def auto_of_best(of):
    for n in sorted(of.get('auto', {})):
        best = max(statistics.median(by[n]) for name, by in of.items() if name not in ('auto', 'ceiling', 'root') and n in by)
        print('auto of %s: %.3g of the best' % (size(n), statistics.median(of['auto'][n]) / best))
for world in ('threads', 'mpi', 'mpi-tuned'):
    if os.path.exists(world + '.jsonl'):
        of = rates([world + '.jsonl'])
        table('2 ranks of this machine, world ' + world, of)
        ratios(of, 'shm', 'ceiling', "the memory's one-pass ceiling")
        ratios(of, 'shm', 'mpi', "MPI_Allreduce's")
        auto_of_best(of)
if hosts:
    of = rates(sorted(glob.glob('hosts-*.jsonl')))
    table('%d hosts behind %s' % (hosts, rate), of)
    s = [(int(r['bytes']), float(r['seconds'])) for r in csv.DictReader(open('streams.csv'))]
    n_bytes = s[0][0]
    stream = n_bytes * 2 * (hosts - 1) / hosts / statistics.median(t for _, t in s)
    print('bare TCP streams around the ring: %.4g GB/s, of %d launches' % (stream / 1e9, len(s)))
    for name, by in of.items():
        if n_bytes in by:
            print('%s of %s: %.3g of the streams' % (name, size(n_bytes), statistics.median(by[n_bytes]) / stream))
    auto_of_best(of)
PYTHON
}
