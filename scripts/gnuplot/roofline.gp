# SPDX-License-Identifier: Apache-2.0
# roofline.gp - how fast each layer computes against how much it computes for a byte it moves, under two roofs: what
# memory allows (a slope) and what the fastest GEMM reaches (a line). Williams, Waterman, Patterson: Roofline, CACM
# 52(4), 2009.
#
# Data, one row per layer that computes, the slowest first:
#   kind  intensity_flop_per_byte  gflop_per_s  share_ratio  layer
# share_ratio: its part of the time of all layers (the area of its point). The slowest layers whose names do not run
# into each other are named.
# Variables: peak_gflop_per_s, peak_gb_per_s: the roofs.

load share.'/style.gp'
peak = real(peak_gflop_per_s)
stream = real(peak_gb_per_s)

# --- kinds; the scale ---
kinds = ''
least_x = 1e300
most_x = 0.0
least_y = 1e300
most_y = 0.0
most_share = 0.0
n_layers = 0
see_kind(k) = (strstrt(kinds, '"'.k.'"') ? 0 : (kinds = kinds.' "'.k.'"', 0))
see(k, x, y, s) = (see_kind(k), least_x = x < least_x ? x : least_x, most_x = x > most_x ? x : most_x, \
    least_y = y < least_y ? y : least_y, most_y = y > most_y ? y : most_y, \
    most_share = s > most_share ? s : most_share, n_layers = n_layers + 1, x)
stats data using (see(strcol(1), cell(2), cell(3), cell(4))) nooutput
if (!exists("STATS_records") || n_layers == 0 || peak <= 0 || stream <= 0) {
    print data.': no row has kind, intensity and GFLOP/s, or a roof is missing'
    exit status 1
}
ridge = peak / stream
first_x = 2.0 ** floor(log(least_x < ridge ? least_x / 1.3 : ridge / 1.3) / log(2))
last_x = 2.0 ** ceil(log(most_x * 1.3 > ridge * 2 ? most_x * 1.3 : ridge * 2) / log(2))
lowest = least_y < stream * first_x ? least_y : stream * first_x
lowest = (lowest < peak / 2000 ? peak / 2000 : lowest) / 1.5
highest = most_y * 1.5 > peak * 2 ? most_y * 1.5 : peak * 2

# --- names: right of the point, as far as there is room ---
most_names = 9
names = ''
name_at = ''
n_names = 0
u(x) = (log(x) - log(first_x)) / (log(last_x) - log(first_x))
v(y) = (log(y) - log(lowest)) / (log(highest) - log(lowest))
width(t) = 0.011 * strlen(t) + 0.01
meets(k, a, b, t) = abs(b - word(name_at, 3 * k - 1)) < 0.04 && a < word(name_at, 3 * k - 2) + word(name_at, 3 * k) && \
    word(name_at, 3 * k - 2) < a + width(t)
fits(a, b, t) = n_names < most_names && a + width(t) < 1 && (n_names == 0 || (sum [k = 1:n_names] meets(k, a, b, t)) == 0)
keep(a, b, t) = (names = names.' "'.t.'"', name_at = name_at.sprintf(' %.6f %.6f %.6f', a, b, width(t)), n_names = n_names + 1, 1)
name(x, y, t) = fits(u(x), v(y), t) ? keep(u(x), v(y), t) : 0
stats data using (name(cell(2), cell(3), strcol(5))) nooutput
do for [k = 1:n_names] {
    set label 400 + k word(names, k) at graph word(name_at, 3 * k - 2) + 0.012, graph word(name_at, 3 * k - 1) + 0.012 \
        left front tc rgb '#202020'
}

# --- scales ---
set logscale x 2
set logscale y 10
set xrange [first_x : last_x]
set yrange [lowest : highest]
set format x '%g'
set format y '%g'
if (highest / lowest < 1000) { # decades alone would be too few ticks
    set ytics ()
    do for [k = floor(log10(lowest)) : ceil(log10(highest))] {
        do for [m in '1 2 5'] { set ytics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k) }
    }
}
set grid x y my lt 1 lc rgb '#dcdcdc' lw 0.8, lt 1 lc rgb '#f0f0f0' lw 0.5
set mytics 10
set xlabel 'arithmetic for each byte of inputs, outputs and weights (flop/byte, logarithmic)'
set ylabel 'speed (GFLOP/s, logarithmic)' offset 0, 0

# --- text ---
colours = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9'
# A kind has the same colour in the charts of all networks; kinds that are not known here come after those that are.
known = '"larger convolution" "1x1 convolution" "dense" "other layers"'
drawn = ''
drawn_colours = ''
do for [i = 1:words(known)] {
    if (strstrt(kinds, '"'.word(known, i).'"')) {
        drawn = drawn.' "'.word(known, i).'"'
        drawn_colours = drawn_colours.' '.word(colours, i)
    }
}
do for [i = 1:words(kinds)] {
    if (!strstrt(known, '"'.word(kinds, i).'"')) {
        drawn = drawn.' "'.word(kinds, i).'"'
        drawn_colours = drawn_colours.' '.word(colours, int(words(known) + i - 1) % 6 + 1)
    }
}
kinds = drawn
heading = joined(model, 'speed of each layer under the roofs of this machine')
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
entry_names = ''
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:words(kinds)] {
    entry_names = entry_names.' "'.word(kinds, i).'"'
    entry_colours = entry_colours.' '.word(drawn_colours, i)
    entry_points = entry_points.' 7'
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
}
entry_names = entry_names.' "area: share of the time"'
entry_colours = entry_colours.' #909090'
entry_points = entry_points.' 6'
entry_lines = entry_lines.' 0'
entry_boxes = entry_boxes.' 0'
load share.'/legend.gp'

# --- roofs and points, the largest first so that none hides another ---
roof(x) = stream * x < peak ? stream * x : peak
set samples 400
set label 300 sprintf('fastest large GEMM: %.4g GFLOP/s', peak) at graph 0.985, first peak * 1.3 right tc rgb '#404040'
# under the slope, where it has come half the way it is to be seen
slope_from = lowest / stream > first_x ? lowest / stream : first_x
slope_x = sqrt(slope_from * ridge)
set label 301 sprintf('memory: %.3g GB/s', stream) at graph u(slope_x) + 0.02, graph v(stream * slope_x) left tc rgb '#404040'
of(i, y) = strcol(1) eq word(kinds, i) ? y : NaN
area(s) = dot * (0.35 + 1.9 * sqrt(s / most_share))
plot roof(x) with lines lc rgb '#404040' lw 2.5 notitle, \
    for [i = 1:words(kinds)] data using 2:(of(i, $3)):(area($4)) with points pt 7 ps variable \
        lc rgb '#60'.substr(word(drawn_colours, i), 2, 7) notitle, \
    for [i = 1:words(kinds)] data using 2:(of(i, $3)):(area($4)) with points pt 6 ps variable \
        lc rgb word(drawn_colours, i) lw 1 notitle
set output
