# SPDX-License-Identifier: Apache-2.0
# roofline.gp - how fast each layer computes against how much it computes for a byte it moves, under two roofs: what
# memory allows (a slope) and what the fastest GEMM reaches (a line). Williams, Waterman, Patterson: Roofline, CACM
# 52(4), 2009.
#
# Data, one row per layer that computes, the slowest first:
#   kind  intensity_flop_per_byte  gflop_per_s  share_ratio  layer
# share_ratio: its part of the time of all layers (the area of its point). The slowest layers are named, as far as their
# names run into nothing.
# Variables: peak_gflop_per_s, peak_gb_per_s: the roofs, the greatest that was measured; least_gflop_per_s,
# least_gb_per_s: the least, and n_roofs: of how many measurements; these three may be missing.

load share.'/style.gp'
peak = real(peak_gflop_per_s)
stream = real(peak_gb_per_s)
has_spread = exists("least_gflop_per_s") && exists("least_gb_per_s") && exists("n_roofs") && n_roofs ne '1'
least_peak = has_spread ? real(least_gflop_per_s) : peak
least_stream = has_spread ? real(least_gb_per_s) : stream

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

# --- scales ---
set logscale x 2
set logscale y 10
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
shapes = '7 5 9 13 11 15'
# A kind has the same colour and shape in the charts of all networks; kinds that are not known here come after those that are.
known = '"larger convolution" "1x1 convolution" "dense" "other layers"'
drawn = ''
drawn_colours = ''
kind_points = ''
do for [i = 1:words(known)] {
    if (strstrt(kinds, '"'.word(known, i).'"')) {
        drawn = drawn.' "'.word(known, i).'"'
        drawn_colours = drawn_colours.' '.word(colours, i)
        kind_points = kind_points.' '.word(shapes, i)
    }
}
do for [i = 1:words(kinds)] {
    if (!strstrt(known, '"'.word(kinds, i).'"')) {
        drawn = drawn.' "'.word(kinds, i).'"'
        drawn_colours = drawn_colours.' '.word(colours, int(words(known) + i - 1) % 6 + 1)
        kind_points = kind_points.' '.word(shapes, int(words(known) + i - 1) % 6 + 1)
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
    entry_points = entry_points.' '.word(kind_points, i)
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
}
entry_names = entry_names.' "area: share of the time"'
entry_colours = entry_colours.' #909090'
entry_points = entry_points.' 6'
entry_lines = entry_lines.' 0'
entry_boxes = entry_boxes.' 0'
load share.'/legend.gp'


# --- what is written into the picture: places are parts of the graph's width (u) and height (v) ---
u(x) = (log(x) - log(first_x)) / (log(last_x) - log(first_x))
v(y) = (log(y) - log(lowest)) / (log(highest) - log(lowest))
roof(x, slope, level) = slope * x < level ? slope * x : level
size(s) = 0.35 + 1.9 * sqrt(s / most_share)
wide(name) = 0.0095 * strlen(name)
tall = 0.036
most_names = 9
most_boxes = most_names + 2
array point_u[n_layers]
array point_v[n_layers]
array point_half[n_layers] # half its width
array box_u[most_boxes]
array box_v[most_boxes]    # of its middle
array box_wide[most_boxes]
n_boxes = 0
see_point(row, x, y, s) = (point_u[row + 1] = u(x), point_v[row + 1] = v(y), point_half[row + 1] = 0.0052 * size(s), 0)
stats data using (see_point($0, cell(2), cell(3), cell(4))) nooutput
# Does the box with its left end at a, its middle at b run into point k, or into box k? Heights are twice as many parts.
on_point(k, a, b, w) = a < point_u[k] + point_half[k] && point_u[k] - point_half[k] < a + w && \
    abs(b - point_v[k]) < tall / 2 + 2 * point_half[k]
on_box(k, a, b, w) = a < box_u[k] + box_wide[k] && box_u[k] < a + w && abs(b - box_v[k]) < tall
on_roof(a, b, w) = b + tall / 2 > v(roof(first_x * (last_x / first_x) ** a, least_stream, least_peak)) && \
    b - tall / 2 < v(roof(first_x * (last_x / first_x) ** (a + w), stream, peak))
is_free(a, b, w) = a > 0.004 && a + w < 0.998 && b > tall / 2 && b < 1 - tall / 2 && \
    (sum [k = 1:n_layers] on_point(k, a, b, w)) == 0 && (n_boxes == 0 || (sum [k = 1:n_boxes] on_box(k, a, b, w)) == 0)
take(a, b, w) = (n_boxes = n_boxes + 1, box_u[n_boxes] = a, box_v[n_boxes] = b, box_wide[n_boxes] = w, 1)

# Roofs: the level's above it at the right end, the slope's under it where nothing stands.
short(x) = sprintf(x >= 100 ? '%.0f' : '%.3g', x) # never 1e+03
spread(least, most) = has_spread ? short(least).' to '.short(most) : short(most)
caption = 'fastest large GEMM: '.spread(least_peak, peak).' GFLOP/s'
caption = has_spread ? caption.', '.n_roofs.' measurements' : caption
taken = take(0.985 - wide(caption), v(peak) + 0.04, wide(caption))
set label 300 caption at graph 0.985, graph v(peak) + 0.04 right tc rgb '#404040'
caption = 'memory: '.spread(least_stream, stream).' GB/s'
slope_from = lowest / stream > first_x ? lowest / stream : first_x
slope_at(i) = slope_from * (ridge / slope_from) ** real(word('0.5 0.35 0.65 0.2 0.8', i))
left_of(i) = u(slope_at(i)) + 0.02
height_of(i) = v(least_stream * slope_at(i)) - 0.01
chosen = 1
do for [i = 5:1:-1] { chosen = is_free(left_of(i), height_of(i), wide(caption)) ? i : chosen }
taken = take(left_of(chosen), height_of(chosen), wide(caption))
set label 301 caption at graph left_of(chosen), graph height_of(chosen) left tc rgb '#404040'

# Layers: beside, above or below their points.
name_u(i, a, h, w) = i == 1 || i > 6 ? a + h + 0.006 : i == 2 ? a - h - w - 0.006 : i < 5 ? a - w / 2 : a - h - w
name_v(i, b, h) = i < 3 ? b : i == 3 || i == 5 || i == 7 ? b + 2 * h + tall / 2 + 0.006 : b - 2 * h - tall / 2 - 0.006
fits(i, k, w) = is_free(name_u(i, point_u[k], point_half[k], w), name_v(i, point_v[k], point_half[k]), w) && \
    !on_roof(name_u(i, point_u[k], point_half[k], w), name_v(i, point_v[k], point_half[k]), w)
first_fit(k, w) = fits(1, k, w) ? 1 : fits(2, k, w) ? 2 : fits(3, k, w) ? 3 : fits(4, k, w) ? 4 : \
    fits(7, k, w) ? 7 : fits(8, k, w) ? 8 : fits(5, k, w) ? 5 : fits(6, k, w) ? 6 : 0
names = ''
keep(i, k, t) = (names = names.' "'.t.'"', \
    take(name_u(i, point_u[k], point_half[k], wide(t)), name_v(i, point_v[k], point_half[k]), wide(t)))
name(i, k, t) = i ? keep(i, k, t) : 0
stats data using (n_boxes < most_boxes ? name(first_fit($0 + 1, wide(strcol(5))), $0 + 1, strcol(5)) : 0) nooutput
do for [k = 3:n_boxes] {
    set label 400 + k word(names, k - 2) at graph box_u[k], graph box_v[k] left front tc rgb '#202020'
}

# --- roofs, and points, the largest first so that none hides another ---
set xrange [first_x : last_x]
set yrange [lowest : highest]
set samples 400
of(i, y) = strcol(1) eq word(kinds, i) ? y : NaN
area(s) = dot * size(s)
plot for [k = 1:has_spread ? 1 : 0] '+' using 1:(roof($1, least_stream, least_peak)):(roof($1, stream, peak)) \
        with filledcurves fc rgb '#dddddd' notitle, \
    roof(x, stream, peak) with lines lc rgb '#404040' lw 2.5 notitle, \
    for [i = 1:words(kinds)] data using 2:(of(i, $3)):(area($4)) with points pt int(word(kind_points, i)) ps variable \
        lc rgb '#60'.substr(word(drawn_colours, i), 2, 7) notitle, \
    for [i = 1:words(kinds)] data using 2:(of(i, $3)):(area($4)) with points pt int(word(kind_points, i)) - 1 ps variable \
        lc rgb word(drawn_colours, i) lw 1 notitle
set output
