# SPDX-License-Identifier: Apache-2.0
# scaling.gp - a quantity against workers, one line per mode. The common part of throughput.gp and
# efficiency.gp, which set `quantity`, `unit_name`, `mean_of` and `reference` ("ideal" or "one").
# Not a chart by itself.

most = 0.0
most_mean = 0.0
is_cut = 0
least = 1e300
first_count = 1e300
last_count = 0.0
n_oversubscribed = 0
n_points = 0
n_dots = 0
ideal = NaN
first_launch = 7 # its column; launches follow one another, behind the cores. Tables that were kept before have neither
seen(y) = (is_number(y) && y > 0 ? (most = y > most ? y : most, least = y < least ? y : least, 1) : 0)
see(m, w, y, low, high, o) = (see_mode(m), see_count(sprintf('%d', w)), seen(y), seen(high), seen(low), most_mean = is_number(y) && y > most_mean ? y : most_mean, \
    first_count = w < first_count ? w : first_count, last_count = w > last_count ? w : last_count, \
    n_oversubscribed = n_oversubscribed + (o > 0), n_points = n_points + (is_number(y) ? 1 : 0), \
    ideal = (m eq 'single' && w == 1 && is_number(y)) ? y : ideal, w)
stats data using (first_launch = columnheader(7) eq 'cores' ? 8 : 7, see(strcol(1), cell(2), cell(3), cell(4), cell(5), cell(6))) nooutput
if (!exists("STATS_records") || STATS_records == 0 || n_points == 0) {
    print data.': no row has mode, workers and mean'
    exit status 1
}
last_launch = STATS_columns
do for [k = first_launch:last_launch] {
    stats data using (n_dots = n_dots + seen(cell(k)), 0) nooutput
}

# --- scales: both logarithmic where there is an ideal to reach, which is a straight line then ---
shows_ideal = reference eq 'ideal' && is_number(ideal)
if (shows_ideal) { most = ideal * last_count > most ? ideal * last_count : most }
is_log = reference eq 'ideal'
typical = is_log ? sqrt(most * least) : most
divisor = !is_log || typical < 2e3 ? 1 : typical < 2e6 ? 1e3 : typical < 2e9 ? 1e6 : 1e9
unit_prefix = divisor == 1 ? '' : divisor == 1e3 ? 'thousand ' : divisor == 1e6 ? 'million ' : 'billion '
set logscale x 2
room = last_count > first_count ? (last_count / first_count) ** 0.06 : 1.5
set xrange [first_count / room : last_count * room]
if (is_log) {
    set logscale y 10
    lowest = least / divisor / 1.4
    highest = most / divisor * 1.4
    set yrange [lowest : highest]
    set format y '%g'
    set mytics 10
    set grid y my lt 1 lc rgb '#dcdcdc' lw 0.8, lt 1 lc rgb '#f0f0f0' lw 0.5
    if (highest / lowest < 1000) { # decades alone would be too few ticks
        set ytics () nomirror
        do for [k = floor(log10(lowest)) : ceil(log10(highest))] {
            do for [m in highest / lowest < 5 ? '1 1.5 2 3 4 5 6 8' : '1 2 5'] {
                set ytics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k)
            }
        }
    }
} else {
    most = most < 1.1 ? 1.1 : most
    is_cut = most > 2 * most_mean && most > 2 # one interval must not flatten all the rest
    most = is_cut ? (most_mean < 1 ? 2 : 2 * most_mean) : most
    set yrange [0 : most / divisor * 1.06]
    set format y '%g'
}
# A tick at each worker count, as far as labels do not touch.
set xtics ()
last_tick = 0.0
span = log(last_count * room / (first_count / room))
do for [i = 1:words(counts)] {
    w = real(word(counts, i))
    if (last_tick == 0 || abs(log(w / last_tick)) / span > 0.035) {
        set xtics add (sprintf('%d', int(w)) w)
        last_tick = w
    }
}

# --- text ---
heading = joined(model, quantity.' against workers')
note = joined(note, mean_note(last_launch < first_launch ? 'mean' : 'geometric mean', mean_of)) # of a table that was kept: not known
note = joined(note, is_cut ? 'an interval ends above the chart' : '')
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel 'workers'
set ylabel quantity.' ('.unit_prefix.unit_name.(is_log ? ', logarithmic)' : ')') offset 0, 0

entry_names = ''
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:words(modes)] {
    entry_names = entry_names.' "'.word(modes, i).'"'
    entry_colours = entry_colours.' '.colour(word(modes, i), i)
    entry_points = entry_points.' '.point(word(modes, i), i)
    entry_lines = entry_lines.(word(modes, i) eq 'single' ? ' 0' : ' '.dash(word(modes, i), i))
    entry_boxes = entry_boxes.' 0'
}
if (shows_ideal || reference eq 'one') {
    entry_names = entry_names.(shows_ideal ? ' "ideal: single × workers"' : ' "ideal: nothing lost"')
    entry_colours = entry_colours.' #a0a0a0'
    entry_points = entry_points.' 0'
    entry_lines = entry_lines.' 10'
    entry_boxes = entry_boxes.' 0'
}
if (n_dots > 0) {
    entry_names = entry_names.' "'.dot_name.'"'
    entry_colours = entry_colours.' #606060'
    entry_points = entry_points.' 1007'
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
}
if (n_oversubscribed > 0) {
    entry_names = entry_names.' "hollow: more workers than cores"'
    entry_colours = entry_colours.' #606060'
    entry_points = entry_points.' -7'
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'

set datafile missing NaN # from here on a line goes on across rows of other modes

# --- plot: lines, then launches, then intervals, then means, so that nothing hides behind a line ---
# Intervals are arrows with flat heads: gnuplot's error bars come with a white halo that covers their neighbours.
# Points of different modes at the same count stand a little apart, and a mode's launches right of their mean.
apart = (last_count / first_count) ** (n_dots > 0 ? 0.012 : 0.008)
apart = apart < 1.012 ? 1.012 : apart
n_modes = words(modes)
x(w, i) = w * apart ** (i - (n_modes + 1) / 2.0)
of(i, y) = strcol(1) eq word(modes, i) ? y / divisor : NaN
plot \
    for [k = 1:shows_ideal ? 1 : 0] ideal * x / divisor with lines lc rgb '#a0a0a0' lw 2 dt 10 notitle, \
    for [k = 1:reference eq 'one' ? 1 : 0] 1 with lines lc rgb '#a0a0a0' lw 2 dt 10 notitle, \
    for [i = 1:n_modes] data using (x($2, i)):(of(i, $3)) with lines \
        lc rgb colour(word(modes, i), i) lw 2.5 dt dash(word(modes, i), i) notitle, \
    for [i = 1:n_dots > 0 ? n_modes : 0] for [k = first_launch:last_launch] \
        data using (x($2, i + 0.45)):(of(i, cell(k))) with points pt 7 ps 0.35 * dot \
        lc rgb colour(word(modes, i), i) notitle, \
    for [i = 1:n_modes] data using (x($2, i)):(of(i, $4)):(0):(of(i, $5 - $4)) with vectors heads size screen 0.0035, 90 \
        lc rgb colour(word(modes, i), i) lw 1.8 notitle, \
    for [i = 1:n_modes] data using (x($2, i)):(of(i, $3)) with points \
        pt point(word(modes, i), i) ps dot lc rgb colour(word(modes, i), i) notitle, \
    for [i = 1:n_modes] data using ($6 > 0 ? x($2, i) : NaN):(of(i, $3)) with points \
        pt point(word(modes, i), i) ps 0.55 * dot lc rgb 'white' notitle
set output
