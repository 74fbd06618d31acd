# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# pairs.sh - what scripts share that launch two programs in turns, in pairs: a commit's program, ratios with intervals,
# and what a manifest says of a program. Who sources it sets `repository`.

# build_commit FOLDER COMMIT CMAKE_ARGUMENT...: a clone of the repository at COMMIT; its program becomes
# FOLDER/build/release/gradmark. Where that fails: why, on standard output, and code 1.
build_commit() {
    local folder=$1 its_commit=$2
    shift 2
    # shellcheck disable=SC2154 # of who sources this
    git clone --quiet --shared --no-checkout "$repository" "$folder"
    git -C "$folder" -c advice.detachedHead=false checkout --quiet "$its_commit"
    if ! (cd "$folder" && cmake --preset release "$@" && cmake --build --preset release --target gradmark) >"$folder.log" 2>&1; then
        grep -iE 'error|failed' "$folder.log" | head -n 5 >&2 || true
        printf '%s cannot be built: %s\n' "$its_commit" "$(tail -n 1 "$folder.log")"
        return 1
    fi
}

# ratios OVER UNDER COLUMN CSV: of lines "pair,position,A,B,C,side,...", for every A B C, in order of appearance:
#   A B C n ratio low high half_width median
# of the figures in COLUMN, side OVER / side UNDER: geometric mean over pairs, with its 95 % interval by Student's t over
# the logarithms, (half its width) as a ratio less 1, and the median. What has less than two pairs is left out.
#
# The quantile of Student's t by bisection of its distribution, which is a finite sum for whole degrees of freedom
# (Abramowitz and Stegun, 26.7.3 and 26.7.4).
ratios() {
    # shellcheck disable=SC2016
    awk -v over="$1" -v under="$2" -v column="$3" '
function inside(t, df,    theta, c, term, sum, i) { # probability that |T| <= t
    theta = atan2(t, sqrt(df)); c = cos(theta) ^ 2
    if (df % 2) {
        term = cos(theta); sum = df > 1 ? term : 0
        for (i = 3; i <= df - 2; i += 2) { term *= c * (i - 1) / i; sum += term }
        return (theta + sin(theta) * sum) * 2 / 3.14159265358979324
    }
    term = sum = 1
    for (i = 2; i <= df - 2; i += 2) { term *= c * (i - 1) / i; sum += term }
    return sin(theta) * sum
}
function quantile(df,    low, high, i) {
    low = 0; high = 20
    for (i = 0; i < 60; i++) if (inside((low + high) / 2, df) < 0.95) low = (low + high) / 2; else high = (low + high) / 2
    return high
}
function median(point, count,    i, j, x) {
    for (i = 1; i <= count; i++) {
        x = ratio[point, i]
        for (j = i - 1; j >= 1 && sorted[j] > x; j--) sorted[j + 1] = sorted[j]
        sorted[j + 1] = x
    }
    return count % 2 ? sorted[(count + 1) / 2] : (sorted[count / 2] + sorted[count / 2 + 1]) / 2
}
BEGIN { FS = "," }
NR == 1 { next }
{
    point = $3 " " $4 " " $5
    if (!(point in n)) { order[++n_points] = point; n[point] = 0 }
    rate[point, $1, $6] = $column
    if ((point, $1, over) in rate && (point, $1, under) in rate)
        ratio[point, ++n[point]] = log(rate[point, $1, over] / rate[point, $1, under])
}
END {
    for (p = 1; p <= n_points; p++) {
        point = order[p]; count = n[point]; sum = squares = 0
        if (count < 2) continue
        for (i = 1; i <= count; i++) sum += ratio[point, i]
        mean = sum / count
        for (i = 1; i <= count; i++) squares += (ratio[point, i] - mean) ^ 2
        half = quantile(count - 1) * sqrt(squares / (count - 1) / count)
        printf "%s %d %.12f %.12f %.12f %.12f %.12f\n", point, count, exp(mean), exp(mean - half), exp(mean + half), \
            exp(half) - 1, exp(median(point, count))
    }
}' "$4"
}

# text VALUE: as a JSON string
text() {
    local value=${1//\\/\\\\}
    printf '"%s"' "${value//\"/\\\"}"
}

# build_of PROGRAM: what it tells of its build and this machine (the record of `gradmark info --json`)
build_of() {
    local last
    last=$("$1" info --json 2>/dev/null | tail -n 1) || last=
    if [[ $last = '{'*'}' ]]; then printf '%s' "$last"; else printf 'null'; fi
}
