# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# bound - the bound that train prints, beside the throughput of many runs
about="Launches gradmark train N times, several ways of training in turns, and reads from each summary how near the run came to its
bound. A line for each way and one for all:

  held      launches whose ratio is above 0 and at most 1
  failed    launches whose ratio is above 1, and which say so
  WRONG     launches without a ratio, or whose mark does not fit it
  least, median, most    of the ratios, those of failed bounds included

Promise: nothing is wrong, and at most --most-failed percent failed (on a quiet machine: 5)."
option launches N 200 1-99999 'launches; one takes about a second'
option most-failed PERCENT 100 number 'promise: at most so many percent failed'

# A name, and the options of train. One thread a worker, bound to a core: where workers share cores there is no bound.
ways=(
    'single       --model lenet --mode single --threads 1 --steps 400'
    'none         --model lenet --mode none --workers 2 --threads 1 --steps 400'
    'allreduce    --model lenet --mode allreduce --workers 2 --threads 1 --steps 400'
    'ps           --model lenet --mode ps --workers 2 --threads 1 --steps 400'
    'forward-only --model lenet --mode single --threads 1 --forward-only --steps 800'
    'resnet8      --model resnet8 --image-size 32 --mode single --threads 1 --batch 8 --steps 60'
)

launches() {
    local words i
    printf 'launch,way,bound_ratio,bound_failed\n' >launches.csv
    for ((i = 0; i < launches; i++)); do
        read -ra words <<<"${ways[i % ${#ways[@]}]}"
        launch "launch $i, ${words[*]}" "$program" train "${words[@]:1}" --bind --eval-samples 0 --record-every 100000 --out run.jsonl
        printf '%d,%s,%s,%s\n' "$i" "${words[0]}" "$(value bound_ratio run.jsonl)" "$(value bound_failed run.jsonl)" >>launches.csv
    done
    rm run.jsonl
}

table() {
    local way
    for way in $(printf '%s\n' "${ways[@]}" | awk '{ print $1 }') all; do
        awk -F, -v way="$way" 'NR > 1 && (way == "all" || $2 == way)' launches.csv | LC_ALL=C sort -t , -k 3g |
            awk -F, -v way="$way" '
                { is_ratio = $3 != "null" && $3 > 0
                  if (is_ratio && $3 <= 1.000000001 && $4 == "false") held++
                  else if (is_ratio && $3 > 1 && $4 == "true") failed++
                  else wrong++
                  if (is_ratio) ratio[++n] = $3 }
                END { if (NR > 0) printf "%-13s %4d launches: %4d held, %3d failed, %3d WRONG; least %.3f, median %.3f, most %.3f\n",
                          way, NR, held, failed, wrong, ratio[1], ratio[int((n + 1) / 2)], ratio[n] }'
    done | sed 's/, *0 WRONG/, none wrong/'
    awk -F, -v most="$most_failed" '
        NR == 1 { next }
        $3 == "null" || !($3 > 0) || ($3 > 1.000000001) != ($4 == "true") || ($4 != "true" && $4 != "false") { wrong++ }
        $4 == "true" { failed++ }
        END { n = NR - 1; kept = wrong == 0 && 100 * failed <= most * n
              printf "%s: %d of %d bounds failed, %.1f %%", kept ? "kept" : "BROKEN", failed, n, 100 * failed / n
              if (most < 100) printf ", at most %g %%", most
              if (wrong > 0) printf "; %d are wrong", wrong
              printf "\n"; exit !kept }' launches.csv
}
