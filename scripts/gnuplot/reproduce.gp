# SPDX-License-Identifier: Apache-2.0
# reproduce.gp - predicted, and where there are any published, efficiency or images/s against GPUs, one line per mode.
#
# Data, the predicted points of each line by GPUs, then the published ones:
#   line  kind  gpus  efficiency  images_per_s  [efficiency_low  efficiency_high  images_low_per_s  images_high_per_s]
# kind: predicted (a line), published (a large hollow point), "not counted" (a small one). Variable quantity: efficiency (where
# it is missing, too) or images. Variable of_table: what the points of a table are, published (where it is missing, too) or given.

load share.'/style.gp'
if (!exists("quantity")) { quantity = 'efficiency' }
if (!exists("of_table")) { of_table = 'published' }
if (!exists("band")) { band = 'no' } # yes: the columns in brackets are there
column_of = quantity eq 'images' ? 5 : 4
is_log = quantity eq 'images'

most = 0.0
least = 1e300
last_count = 1.0
first_count = 1e300
n_published = 0
n_uncounted = 0
ideal = NaN
seen(y) = (is_number(y) && y > 0 ? (most = y > most ? y : most, least = y < least ? y : least, 1) : 0)
see(l, kind, w, y) = (see_mode(l), see_count(sprintf('%d', w)), seen(y), last_count = w > last_count ? w : last_count, \
    first_count = w < first_count ? w : first_count, \
    n_published = n_published + (kind eq 'published'), n_uncounted = n_uncounted + (kind eq 'not counted'), \
    ideal = (kind eq 'predicted' && w == 1 && !is_number(ideal)) ? y / cell(4) : ideal, w)
stats data using (see(strcol(1), strcol(2), cell(3), cell(column_of))) nooutput
if (!exists("STATS_records") || STATS_records == 0) {
    print data.': no row has line, kind, gpus, efficiency and images_per_s'
    exit status 1
}

set logscale x 2
room = last_count > first_count ? (last_count / first_count) ** 0.06 : 1.5
set xrange [first_count / room : last_count * room]
if (is_log) {
    most = is_number(ideal) && ideal * last_count > most ? ideal * last_count : most
    set logscale y 10
    set yrange [least / 1.4 : most * 1.4]
    set format y '%g'
    set ytics () nomirror
    do for [k = floor(log10(least / 1.4)) : ceil(log10(most * 1.4))] {
        do for [m in '1 2 5'] {
            set ytics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k)
        }
    }
} else {
    most = most < 1.0 ? 1.0 : most
    set yrange [0 : most * 1.06]
    set format y '%g'
}
set xtics ()
w = 2 ** int(floor(log(first_count) / log(2) + 1e-9))
while (w <= last_count) {
    set xtics add (sprintf('%d', int(w)) w)
    w = 2 * w
}

heading = joined(model, (is_log ? 'images/s' : 'efficiency').' against GPUs, predicted'.(n_published > 0 ? ' and '.of_table : ''))
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel 'GPUs'
set ylabel (is_log ? 'images/s (logarithmic)' : 'efficiency (ratio)') offset 0, 0

line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_points = '7 9 5 13 11 15'
line_dashes = '1 13 12 14 15 16'
# Line i's. Behind six lines colours begin again, with other points and dashes, and these with each other: in grey, too, no two of
# 36 lines look alike.
of_line(list, i) = word(list, (i - 1) % 6 + 1)
moved(list, i, by) = word(list, (i - 1 + by * ((i - 1) / 6)) % 6 + 1)

entry_names = ''
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:words(modes)] {
    entry_names = entry_names.' "'.word(modes, i).'"'
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.moved(line_points, i, 1)
    entry_lines = entry_lines.' '.moved(line_dashes, i, 2)
    entry_boxes = entry_boxes.' 0'
}
if (!is_log || is_number(ideal)) {
    entry_names = entry_names.' "ideal"'
    entry_colours = entry_colours.' #a0a0a0'
    entry_points = entry_points.' 0'
    entry_lines = entry_lines.' 10'
    entry_boxes = entry_boxes.' 0'
}
if (n_published > 0) {
    entry_names = entry_names.' "hollow: '.of_table.'"'
    entry_colours = entry_colours.' #606060'
    entry_points = entry_points.' -7'
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
}
if (n_uncounted > 0) {
    entry_names = entry_names.' "cross: '.of_table.', not counted"'
    entry_colours = entry_colours.' #606060'
    entry_points = entry_points.' 2'
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'

set datafile missing NaN
n_lines = words(modes)
low_column = band ne 'yes' ? 4 : quantity eq 'images' ? 8 : 6 # columns that are there, as gnuplot looks into them all the same
n_bands = band eq 'yes' ? n_lines : 0
of(i, kind, y) = strcol(1) eq word(modes, i) && strcol(2) eq kind ? y : NaN
plot \
    for [i = 1:n_bands] data using 3:(of(i, 'predicted', cell(low_column))):(of(i, 'predicted', cell(low_column + 1))) \
        with filledcurves fc rgb of_line(line_colours, i) fs transparent solid 0.18 noborder notitle, \
    (is_log ? ideal * x : 1) with lines lc rgb '#a0a0a0' lw 2 dt 10 notitle, \
    for [i = 1:n_lines] data using 3:(of(i, 'predicted', cell(column_of))) with lines \
        lc rgb of_line(line_colours, i) lw 2.5 dt int(moved(line_dashes, i, 2)) notitle, \
    for [i = 1:n_lines] data using 3:(of(i, 'predicted', cell(column_of))) with points \
        pt int(moved(line_points, i, 1)) ps 0.7 * dot lc rgb of_line(line_colours, i) notitle, \
    for [i = 1:n_lines] data using 3:(of(i, 'not counted', cell(column_of))) with points \
        pt 2 ps 0.8 * dot lw 1.5 lc rgb of_line(line_colours, i) notitle, \
    for [i = 1:n_lines] data using 3:(of(i, 'published', cell(column_of))) with points \
        pt int(moved(line_points, i, 1)) ps 1.4 * dot lc rgb of_line(line_colours, i) notitle, \
    for [i = 1:n_lines] data using 3:(of(i, 'published', cell(column_of))) with points \
        pt int(moved(line_points, i, 1)) ps 0.8 * dot lc rgb 'white' notitle
set output
