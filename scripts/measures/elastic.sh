# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# elastic - the speed with --elastic beside the speed without
about="Trains with an asynchronous parameter server, 2 workers and 1 server as threads over TCP, with --elastic and without, in
pairs of launches. Nobody joins or leaves. Prints the ratio of the throughputs, with / without, and its 95 % interval over pairs
(Student's t over logarithms). Takes some minutes."
option model LIST lenet:2500,resnet8:40 any 'MODEL:STEPS of each worker in a launch'
option workers N 2 1-999 'workers'
option servers N 1 1-999 'servers'
option launches N 8 2-999 'pairs of launches'
option limit R '' number 'promise: no ratio is below R'

check() {
    local one='[a-z0-9]+:[1-9][0-9]{0,6}'
    [[ $model =~ ^$one(,$one)*$ ]] || refuse "--model $model: must be MODEL:STEPS, with commas between"
}

train() { # SIDE ROUND POSITION: of $its_model
    local elastic=()
    [ "$1" = without ] || elastic=(--elastic)
    launch "$its_model, $1 --elastic" "$program" train --world threads --model "${its_model%:*}" --steps "${its_model#*:}" --mode ps \
        --workers "$workers" --servers "$servers" --transport tcp --threads 1 --overlap off --eval-samples 0 --record-every 1000000 \
        ${elastic[@]+"${elastic[@]}"} --out records
    printf '%s\n' "$2,$3,${its_model%:*},ps,$workers,$1,${its_model#*:},$(value throughput_samples_per_s records)" >>launches.csv
}

launches() {
    printf 'pair,position,model,mode,workers,side,steps,throughput_samples_per_s\n' >launches.csv
    for its_model in ${model//,/ }; do in_turns "$launches" train without with; done
    rm records
}

table() {
    ratios with without 8 launches.csv | awk -v limit="$limit" '
    BEGIN { printf "%-12s %-5s %7s %6s  %-8s %-18s %s\n", "model", "mode", "workers", "pairs", "ratio", "95 % interval", "median" }
    {
        is_below = limit != "" && $5 < limit + 0
        n_below += is_below
        printf "%-12s %-5s %7d %6d  %-8.4f %.4f .. %-8.4f %.4f%s\n", $1, $2, $3, $4, $5, $6, $7, $9, (is_below ? "  BELOW" : "")
    }
    END {
        print "Ratio: throughput with --elastic / without; geometric mean over pairs of launches."
        if (limit != "" && n_below) printf "BROKEN: of %d models the ratio is below %s\n", n_below, limit
        else if (limit != "") printf "kept: of no model the ratio is below %s\n", limit
        exit n_below > 0
    }'
}
