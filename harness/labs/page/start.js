// SPDX-License-Identifier: Apache-2.0
// start.js - the last part of the script: begin, where the page has sliders.
if (section) {
    lesson.sliders.forEach(complete);
    chosen = lesson.sliders.map(start_of);
    add_parts();
    take_address();
    follow();
    window.addEventListener('hashchange', () => {
        take_address();
        follow();
    });
    window.addEventListener('resize', draw);
}
