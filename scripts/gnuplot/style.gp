# SPDX-License-Identifier: Apache-2.0
# style.gp - what all charts share: terminal, colours, title, the sets of modes and workers in the data.
# Loaded by each chart; not a chart.
#
# String variables set by the caller:
#   share    folder of these scripts          data    the table to draw
#   format   "svg", "png", "gif" (moving) or "dumb" (text)                  out     path of the picture
#   model, scaling, machine, launches         what the title tells; each may be missing
#   columns                                   width of a picture in letters; may be missing
#   exchange                                  how points exchange, where that is not by default; may be missing
#
# Tables are tab-separated: lines that begin with "#" are comments, the first other line names the columns.
# A value that is missing is written nan.

set encoding utf8
set datafile separator tab
set datafile columnheaders

# slide: set by charts that are shown on a wall: no text below 24 pixels of a picture of 1600 x 1000.
text_scale = exists("slide") ? 1.13 : 1.0
font_of(name, points) = sprintf('%s,%.4g', name, points * text_scale)
joins = exists("rounded") ? 'rounded' : 'butt' # rounded: set by charts whose broad lines would end in spikes
if (format eq 'svg') { # its points and ticks come out larger than the other's
    dot = 0.75
    set tics scale 0.5
    set terminal svg size 1600,1000 font font_of('DejaVu Sans,Verdana,sans-serif', 22) linewidth 1.5 @joins background 'white' noenhanced
} else { if (format eq 'gif') { # a moving picture: of a script that plots more than once
    dot = 1.6
    gif_font = font_of('DejaVu Sans', 13) # this terminal takes no expression
    set terminal gif animate delay 120 loop 0 optimize size 1280,800 font gif_font linewidth 1.5 background '#ffffff'
} else { if (format eq 'dumb') { # letters on a terminal
    dot = 1.0
    text_columns = exists("columns") ? int(columns) : 79
    text_rows = text_columns * 2 / 5
    set terminal dumb size text_columns,text_rows noenhanced
} else {
    dot = 2.0
    set terminal pngcairo size 1600,1000 font font_of('DejaVu Sans', 17) linewidth 1.5 @joins background 'white' noenhanced
} } }
set output out

# --- title and note: left-aligned above the plot ---
if (!exists("model")) { model = '' }
if (!exists("scaling")) { scaling = '' }
if (!exists("machine")) { machine = '' }
if (!exists("launches")) { launches = '' }
if (!exists("exchange")) { exchange = '' }
joined(a, b) = a eq '' ? b : b eq '' ? a : a.'  ·  '.b
note = joined(joined(scaling, machine), exchange)
# Which mean, and over what; launches: their number as a text.
mean_note(mean, what) = launches eq '' ? '95 % interval' : launches eq '1' ? 'one launch' : \
    mean.' of '.launches.' '.what.', 95 % interval'
big_font(text) = strlen(text) > 90 ? sprintf(',%d', int(24.0 * 90 / strlen(text))) : ',24'
small_font(text) = strlen(text) > 128 ? sprintf(',%d', int(16.0 * 128 / strlen(text))) : ',16'
if (format eq 'gif') {
    big_font(text) = strlen(text) > 90 ? sprintf(',%d', int(19.0 * 90 / strlen(text))) : ',19'
    small_font(text) = strlen(text) > 128 ? sprintf(',%d', int(12.5 * 128 / strlen(text))) : ',12'
}
if (format eq 'svg') {
    big_font(text) = strlen(text) > 90 ? sprintf(',%d', int(31.0 * 90 / strlen(text))) : ',32'
    small_font(text) = strlen(text) > 128 ? sprintf(',%d', int(20.5 * 128 / strlen(text))) : ',21'
}

if (exists("slide")) {
    fitted(text, n_most, points) = sprintf(',%.4g', points * (strlen(text) > n_most ? 1.0 * n_most / strlen(text) : 1.0))
    big_font(text) = fitted(text, 84, format eq 'svg' ? 34 : format eq 'gif' ? 20.5 : 26)
    small_font(text) = fitted(text, 110, format eq 'svg' ? 24.5 : format eq 'gif' ? 14.6 : 18.4)
}

# --- axes: two lines and a quiet grid ---
set border 3 lc rgb '#404040' lw 1
set tics out nomirror
set grid y lt 1 lc rgb '#dcdcdc' lw 0.8
set lmargin at screen exists("slide") ? 0.115 : 0.1
set rmargin at screen 0.975
set bmargin at screen exists("slide") && format eq 'svg' ? 0.13 : 0.115
set key off

# --- colours of Okabe and Ito (told apart without red-green vision); a mode keeps its colour everywhere ---
known_modes = 'none single ps allreduce'
known_colours = '#8c8c8c #000000 #D55E00 #0072B2'
other_colours = '#009E73 #CC79A7 #56B4E9 #E69F00'
known_points = '13 5 9 7'
other_points = '11 15 5 13'
# Lines are told apart without colours too, points by their shapes.
set dashtype 10 (8, 6)           # what others are compared with
set dashtype 11 (3, 3)
set dashtype 12 (14, 4, 2.5, 4)
set dashtype 13 (11, 5)
set dashtype 14 (5, 4)
set dashtype 15 (18, 4, 6, 4)
set dashtype 16 (11, 4, 2.5, 4, 2.5, 4)
if (exists("rounded")) { # round ends take a line's width of each gap
    set dashtype 12 (13, 8, 0.5, 8)
    set dashtype 13 (9, 9)
    set dashtype 14 (4, 7)
    set dashtype 15 (16, 8, 5, 8)
    set dashtype 16 (9, 8, 0.5, 8, 0.5, 8)
}
known_dashes = '11 12 13 1'
other_dashes = '14 15 16 12'
known(m) = sum [k = 1:4] (word(known_modes, k) eq m ? k : 0)
other(i) = int(i - 1) % 4 + 1
colour(m, i) = known(m) ? word(known_colours, known(m)) : word(other_colours, other(i))
point(m, i) = known(m) ? int(word(known_points, known(m))) : int(word(other_points, other(i)))
dash(m, i) = known(m) ? int(word(known_dashes, known(m))) : int(word(other_dashes, other(i)))
light(m, i) = (colour(m, i) eq '#000000' ? '#E2' : '#D0').substr(colour(m, i), 2, 7) # of an area that hides nothing

# --- modes and worker counts, as lists of quoted words, in the order of the data ---
modes = ''
counts = ''
see_mode(m) = (strstrt(modes, '"'.m.'"') ? 0 : (modes = modes.' "'.m.'"', 0))
see_count(w) = (strstrt(counts, '"'.w.'"') ? 0 : (counts = counts.' "'.w.'"', 0))
is_number(x) = x == x
# The label of 10^k on an axis that has smaller numbers than 0.001 or larger ones than a million; in letters no raised digits.
raised(d) = word('⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹', d + 1)
power_of_ten(k) = format eq 'dumb' ? sprintf('%g', 10.0 ** k) : k == 0 ? '1' : k == 1 ? '10' : \
    '10'.(k < 0 ? '⁻' : '').(abs(k) > 9 ? raised(abs(k) / 10) : '').raised(abs(k) % 10)
has_powers(least, most) = least < 1e-3 || most > 2e6
# Column k of the row. Written as $k, a nan would make gnuplot drop the whole row.
cell(k) = (strcol(k) eq 'nan' || strcol(k) eq '') ? NaN : column(k)
