import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Palette, originColor } from '../src/color.js';
import { ORIGINS, Names } from '../src/names.js';
import { smallModel } from './support.js';

/** @param {string} color hsl(h s% l%) or #rrggbb @returns {number[]} red, green, blue, 0 to 1 */
function channels(color) {
    const hex = /^#(..)(..)(..)$/.exec(color);
    if (hex) return hex.slice(1).map((two) => parseInt(two, 16) / 255);
    const [h, s, l] = color.match(/[\d.]+/g).map(Number);
    const chroma = (1 - Math.abs((2 * l) / 100 - 1)) * (s / 100);
    return [0, 8, 4].map((n) => {
        const k = (n + h / 30) % 12;
        return l / 100 - (chroma / 2) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    });
}

function luminance(color) {
    const [r, g, b] = channels(color).map((c) =>
        c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast of WCAG 2: 4.5 is what small text must have. */
function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}

for (const isDark of [false, true]) {
    test(`what is drawn can be read, ${isDark ? 'dark' : 'light'}`, () => {
        const palette = new Palette(new Names(smallModel()), isDark);
        assert.ok(contrast('#000000', '#ffffff') > 20.9);
        for (let origin = 0; origin < ORIGINS.length; origin++) {
            for (let rank = 0; rank < 8; rank++) {
                for (const shift of [-1, 1]) {
                    const box = originColor(isDark, origin, rank, shift);
                    for (const ink of [palette.ink, palette.mutedInk]) {
                        const found = contrast(box, ink);
                        assert.ok(found >= 4.5, `${ink} on ${box} (${origin}, ${rank}): ${found}`);
                    }
                }
            }
        }
        for (const [ink, back] of [
            [palette.hitInk, palette.hit],
            [palette.fadedInk, palette.faded],
            [palette.muted, palette.panel],
            [palette.mutedInk, palette.more],
        ]) {
            assert.ok(contrast(ink, back) >= 4.5, `${ink} on ${back}: ${contrast(ink, back)}`);
        }
        for (const curve of [palette.rss, palette.hot, palette.accent]) {
            assert.ok(contrast(curve, palette.panel) >= 3, `${curve}`);
        }
    });
}
