// @ts-check
// Colours of the drawings. A box's hue says where its code comes from, its lightness varies by
// function so that neighbours stand apart; all are far enough from the ink to be read.
import { ORIGIN_LIBRARY, ORIGIN_OWN, ORIGIN_PACKAGE, ORIGIN_RUNTIME } from './names.js';

/** @typedef {import('./names.js').Names} Names */

const PACKAGE_HUES = [152, 268, 186, 330, 96, 238, 12, 300];

/**
 * FNV-1a over UTF-16 units.
 * @param {string} text
 * @param {number} [seed]
 * @returns {number} 32 bits
 */
export function hashText(text, seed = 0x811c9dc5) {
    let hash = seed;
    for (let i = 0; i < text.length; i++) {
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
    return hash >>> 0;
}

/**
 * @param {boolean} isDark
 * @param {number} origin
 * @param {number} rank of the package, 0 the largest
 * @param {number} shift -1 to 1: of the lightness
 */
export function originColor(isDark, origin, rank, shift) {
    const hue = {
        [ORIGIN_OWN]: 38,
        [ORIGIN_PACKAGE]: PACKAGE_HUES[rank % PACKAGE_HUES.length],
        [ORIGIN_LIBRARY]: 212,
        [ORIGIN_RUNTIME]: 220,
    }[origin];
    const light = {
        [ORIGIN_OWN]: [88, 76, 3],
        [ORIGIN_PACKAGE]: [42, 82, 3],
        [ORIGIN_LIBRARY]: [52, 85, 3],
        [ORIGIN_RUNTIME]: [12, 88, 1.5],
    }[origin];
    const dark = {
        [ORIGIN_OWN]: [56, 26, 2.5],
        [ORIGIN_PACKAGE]: [26, 28, 2.5],
        [ORIGIN_LIBRARY]: [32, 30, 2.5],
        [ORIGIN_RUNTIME]: [10, 27, 1.5],
    }[origin];
    const [saturation, lightness, spread] = /** @type {number[]} */ (isDark ? dark : light);
    return `hsl(${hue} ${saturation}% ${(lightness + shift * spread).toFixed(1)}%)`;
}

/** What the canvases draw with; one for each theme. */
export class Palette {
    /**
     * @param {Names} names
     * @param {boolean} isDark
     */
    constructor(names, isDark) {
        this.names = names;
        this.isDark = isDark;
        /** @type {Map<number, string>} */
        this.known = new Map();
        this.packages = [...names.packages()].map(([name, area]) => ({ name, area }));
        /** @type {Map<string, number>} */
        this.ranks = new Map(this.packages.map(({ name }, rank) => [name, rank]));
        const pick = (/** @type {string} */ light, /** @type {string} */ dark) =>
            isDark ? dark : light;
        this.panel = pick('#ffffff', '#181b20');
        this.ink = pick('#14171c', '#eef1f5');
        this.mutedInk = pick('#3c434d', '#cdd4de');
        this.muted = pick('#5b6370', '#9aa3b0');
        this.grid = pick('#e8eaee', '#2a2f37');
        this.accent = pick('#1d5fc4', '#7fb0ff');
        this.hot = pick('#b3261e', '#ff8a80');
        this.hit = pick('#f7b500', '#dfa10f');
        this.hitInk = '#14171c';
        this.faded = pick('#eceef1', '#23272e');
        this.fadedInk = pick('#5b6370', '#9aa3b0');
        this.more = pick('#d4d8de', '#383e48');
        this.shade = pick('rgba(244,245,247,.78)', 'rgba(17,19,23,.72)');
        this.limit = pick('#9a4a00', '#ffb266');
        this.rss = pick('#7a3fa0', '#c9a0e8');
        this.families = [
            pick('#7f93d6', '#5468b4'),
            pick('#aebbe9', '#7486cd'),
            pick('#cbd4f1', '#38457c'),
        ];
    }

    /** @param {number} frame */
    boxColor(frame) {
        let color = this.known.get(frame);
        if (color === undefined) {
            const { origin, group } = this.names.originOf(frame);
            const shift = ((hashText(this.names.functionOf(frame)) % 1000) - 500) / 500;
            color = originColor(this.isDark, origin, this.ranks.get(group) ?? 0, shift);
            this.known.set(frame, color);
        }
        return color;
    }

    /**
     * @param {number} origin
     * @param {number} [rank] of the package
     */
    originColor(origin, rank = 0) {
        return originColor(this.isDark, origin, rank, 0);
    }
}
