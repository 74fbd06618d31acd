# SPDX-License-Identifier: Apache-2.0
# loss.gp - training loss against seconds and against samples, one line per mode.
#
# Data, one row per mode and round, each mode's rows together and in the order of time:
#   mode  workers  seconds  samples  loss  oversubscribed
# seconds: since the first start; samples: seen by all workers by then; loss: mean of the round's batches
# (nan: not computed); oversubscribed: 1 when there were more workers than cores (marked with a star), else 0.
# Rounds are drawn thin, their running mean bold.

load share.'/style.gp'
entry(m, w, o) = ' "'.m.', '.w.(w eq '1' ? ' worker' : ' workers').(o eq '1' ? ' *' : '').'"'
see(m, w, o) = (see_mode(m), n_oversubscribed = n_oversubscribed + (o eq '1'), \
    strstrt(legends, '"'.m.', ') ? 0 : (legends = legends.entry(m, w, o), 0))
legends = ''
n_oversubscribed = 0
most = 0.0
least = 1e300
n_rows = 0
longest = 0.0
most_samples = 0.0
seen(s, n, y) = (is_number(y) ? (n_rows = n_rows + 1, most = y > most ? y : most, least = y < least ? y : least, \
    longest = s > longest ? s : longest, most_samples = n > most_samples ? n : most_samples, 1) : 1)
stats data using (see(strcol(1), strcol(2), valid(6) ? strcol(6) : '0'), seen(cell(3), cell(4), cell(5))) nooutput
if (!exists("STATS_records") || STATS_records == 0 || n_rows == 0) {
    print data.': no row has mode, workers, seconds, samples and loss'
    exit status 1
}
n_modes = words(modes)

# --- text ---
heading = joined(model, 'loss against time and against samples')
note = joined(note, 'thin: each round, bold: running mean')
note = joined(note, n_oversubscribed > 0 ? '* more workers than cores' : '')
set multiplot
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'

# --- running mean: exponential, over about a thirtieth of a mode's rounds ---
# Place and loss are averaged with the same weights, and losses as logarithms on a logarithmic axis: so a
# straight descent stays where it is, where a mean of losses alone would lag behind. The division by the sum of
# weights makes the first mean the first value.
gain = 2.0 / (1 + n_rows / n_modes / 30.0)
gain = gain > 1 ? 1 : gain
is_log = 0
begin(m) = (of_mode = m, sum_x = 0.0, sum_y = 0.0, weight = 0.0)
scaled(y) = is_log ? log(y) : y
counts_in(y) = strcol(1) eq of_mode && is_number(y) && (!is_log || y > 0)
advance(x, y) = counts_in(y) ? (sum_x = sum_x * (1 - gain) + gain * x, sum_y = sum_y * (1 - gain) + gain * scaled(y), \
    weight = weight * (1 - gain) + gain, sum_x / weight) : x
average(y) = counts_in(y) ? (is_log ? exp(sum_y / weight) : sum_y / weight) : NaN

# --- the scale is that of the running means: single rounds may leave it ---
most = 0.0
least = 1e300
previous = ''
bound(a) = is_number(a) ? (most = a > most ? a : most, least = a < least ? a : least, 1) : 1
enter(m) = m eq previous ? 0 : (previous = m, begin(m))
stats data using (enter(strcol(1)), advance(0, cell(5)), bound(average(cell(5)))) nooutput
set datafile missing NaN # from here on a line goes on across rows without a loss
set format y '%g'
if (least > 0 && most / least > 30) {
    is_log = 1
    set logscale y 10
    set yrange [least / 2.5 : most * 1.4]
} else {
    set yrange [least < 0 ? least * 1.2 : 0 : most > 0 ? most * 1.2 : 1]
}
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8

entry_names = legends
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:n_modes] {
    entry_colours = entry_colours.' '.colour(word(modes, i), i)
    entry_points = entry_points.' 0'
    entry_lines = entry_lines.' 1'
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'

raw(i, y) = strcol(1) eq word(modes, i) ? y : NaN
start(i, row) = row == 0 ? begin(word(modes, i)) : 0
place(panel) = panel == 1 ? $3 * per_s : $4 / thousands

thousands = most_samples >= 1e7 ? 1e6 : most_samples >= 1e4 ? 1e3 : 1
per_s = longest >= 0.5 ? 1 : longest >= 5e-4 ? 1e3 : 1e6
s_name = per_s == 1 ? 'seconds' : per_s == 1e3 ? 'milliseconds' : 'microseconds'

do for [panel = 1:2] {
    if (panel == 1) {
        set lmargin at screen 0.1
        set rmargin at screen 0.51
        set xlabel s_name.' since the start'
        set ylabel 'training loss' offset 0, 0
        set xrange [0 : longest > 0 ? longest * per_s * 1.02 : 1]
    } else {
        unset label
        unset arrow
        set lmargin at screen 0.56
        set rmargin at screen 0.98
        set xlabel thousands == 1e6 ? 'samples of all workers (million)' : \
                   thousands == 1e3 ? 'samples of all workers (thousand)' : 'samples of all workers'
        unset ylabel
        set format y ''
        set xrange [0 : most_samples > 0 ? most_samples / thousands * 1.02 : 1]
    }
    plot \
        for [i = 1:n_modes] data using (place(panel)):(raw(i, $5)) with lines \
            lc rgb '#C0'.substr(colour(word(modes, i), i), 2, 7) lw 1, \
        for [i = 1:n_modes] data using (start(i, $0), advance(place(panel), $5)):(average($5)) with lines \
            lc rgb colour(word(modes, i), i) lw 2.5, \
        for [i = 1:n_rows / n_modes < 20 ? n_modes : 0] data using (place(panel)):(raw(i, $5)) with points \
            pt 7 ps 0.6 * dot lc rgb colour(word(modes, i), i)
}
unset multiplot
set output
