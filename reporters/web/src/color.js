// @ts-check
// Colours of the drawings. A box's hue says what the user asked for: where its code comes from, its
// kind, its size or its growth; of the first two the lightness varies by function so that neighbours
// stand apart. All are far enough from the ink to be read, and none of them is all that says it.
import { hashText } from './hash.js';
import {
    KIND_INLINED,
    KIND_NATIVE,
    KIND_PYTHON,
    ORIGIN_LIBRARY,
    ORIGIN_NATIVE,
    ORIGIN_OWN,
    ORIGIN_PACKAGE,
    ORIGIN_RUNTIME,
} from './names.js';

/** @typedef {import('./names.js').Names} Names */

/** Packages and native modules, the largest first. */
/** @type {Record<number, number[]>} */
const GROUP_HUES = {
    [ORIGIN_PACKAGE]: [152, 268, 186, 330, 96, 238, 12, 300],
    [ORIGIN_NATIVE]: [76, 112, 56, 94],
};

/** Shares of all from which on a box has the next stronger colour. */
export const SIZE_STEPS = [0.001, 0.01, 0.1, 0.5];
/** Shares of the largest change from which on a box has the next stronger colour. */
export const GROWTH_STEPS = [0.001, 0.05, 0.4];

/** By theme: hue, saturation, lightness, and how far that varies. */
/** @type {Record<number, {hue: number, light: number[], dark: number[]}>} */
const ORIGIN_TONES = {
    [ORIGIN_OWN]: { hue: 38, light: [88, 76, 3], dark: [56, 26, 2.5] },
    [ORIGIN_PACKAGE]: { hue: 152, light: [42, 82, 3], dark: [26, 28, 2.5] },
    [ORIGIN_LIBRARY]: { hue: 212, light: [52, 85, 3], dark: [32, 30, 2.5] },
    [ORIGIN_NATIVE]: { hue: 76, light: [40, 82, 3], dark: [24, 25, 2.5] },
    [ORIGIN_RUNTIME]: { hue: 220, light: [12, 88, 1.5], dark: [10, 27, 1.5] },
};
/** @type {Record<number, {hue: number, light: number[], dark: number[]}>} */
const KIND_TONES = {
    [KIND_PYTHON]: { hue: 212, light: [62, 84, 3], dark: [40, 30, 2.5] },
    [KIND_NATIVE]: { hue: 34, light: [88, 77, 3], dark: [56, 26, 2.5] },
    [KIND_INLINED]: { hue: 54, light: [80, 84, 2], dark: [40, 23, 2] },
};
const SIZES = {
    light: ['#f1efe8', '#fbe9c4', '#f8cf85', '#f0ac4e', '#dd8436'],
    dark: ['#26272b', '#40361f', '#5c441a', '#7a5216', '#9a5c14'],
};
const GROWN = {
    light: ['#fce4c9', '#f8bd84', '#ee9546'],
    dark: ['#45331f', '#6b451a', '#8f5316'],
};
const SHRUNK = {
    light: ['#d9e8fa', '#aacdf3', '#74abe8'],
    dark: ['#1f334c', '#23497a', '#255ea3'],
};

/**
 * @param {boolean} isDark
 * @param {{hue: number, light: number[], dark: number[]}} tone
 * @param {number} shift -1 to 1: of the lightness
 */
function toneColor(isDark, tone, shift) {
    const [saturation, lightness, spread] = isDark ? tone.dark : tone.light;
    return `hsl(${tone.hue} ${saturation}% ${(lightness + shift * spread).toFixed(1)}%)`;
}

/**
 * @param {boolean} isDark
 * @param {number} origin
 * @param {number} rank of the package or module, 0 the largest
 * @param {number} shift -1 to 1: of the lightness
 */
export function originColor(isDark, origin, rank, shift) {
    const tone = ORIGIN_TONES[origin];
    const hues = GROUP_HUES[origin] ?? [tone.hue];
    const hue = hues[rank % hues.length];
    return toneColor(isDark, { ...tone, hue }, shift);
}

/**
 * @param {number} share of all
 * @returns {number} 0 to 4: how strong its colour is
 */
export function sizeStep(share) {
    let step = 0;
    while (step < SIZE_STEPS.length && share >= SIZE_STEPS[step]) step++;
    return step;
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
        /** @type {Map<string, string>} */
        this.known = new Map();
        /** @type {Record<number, {name: string, area: number}[]>} by origin, the largest first */
        this.groups = {};
        for (const origin of [ORIGIN_PACKAGE, ORIGIN_NATIVE]) {
            this.groups[origin] = [...names.groupsOf(origin)].map(([name, area]) => ({
                name,
                area,
            }));
        }
        /** @type {Map<string, number>} */
        this.ranks = new Map();
        for (const [origin, groups] of Object.entries(this.groups)) {
            groups.forEach(({ name }, rank) => this.ranks.set(`${origin}/${name}`, rank));
        }
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
        this.root = pick('#dfe2e7', '#3a4049');
        this.shade = pick('rgba(244,245,247,.78)', 'rgba(17,19,23,.72)');
        this.phase = pick('#cfe0f8', '#27405f');
        this.limit = pick('#9a4a00', '#ffb266');
        this.rss = pick('#7a3fa0', '#c9a0e8');
        this.families = [
            pick('#7f93d6', '#5468b4'),
            pick('#aebbe9', '#7486cd'),
            pick('#cbd4f1', '#38457c'),
        ];
        this.sizes = isDark ? SIZES.dark : SIZES.light;
        this.grown = isDark ? GROWN.dark : GROWN.light;
        this.shrunk = isDark ? SHRUNK.dark : SHRUNK.light;
        this.same = isDark ? SIZES.dark[0] : '#eeeff2';
    }

    /**
     * @param {number} frame
     * @param {'module' | 'kind'} by
     */
    boxColor(frame, by = 'module') {
        if (frame < 0) return this.root;
        const key = `${by}${frame}`;
        let color = this.known.get(key);
        if (color === undefined) {
            const shift = ((hashText(this.names.functionOf(frame)) % 1000) - 500) / 500;
            color =
                by === 'kind'
                    ? this.kindColor(this.kindOf(frame), shift)
                    : this.moduleColor(frame, shift);
            this.known.set(key, color);
        }
        return color;
    }

    /** @param {number} frame @returns {number} its kind; -1 for the runtime's */
    kindOf(frame) {
        const { kind, isRuntime } = this.names.model.frames;
        return isRuntime[frame] ? -1 : kind[frame];
    }

    /**
     * @param {number} frame
     * @param {number} shift
     */
    moduleColor(frame, shift) {
        const { origin, group } = this.names.originOf(frame);
        return originColor(this.isDark, origin, this.ranks.get(`${origin}/${group}`) ?? 0, shift);
    }

    /**
     * @param {number} kind -1: the runtime's
     * @param {number} [shift]
     */
    kindColor(kind, shift = 0) {
        return toneColor(this.isDark, KIND_TONES[kind] ?? ORIGIN_TONES[ORIGIN_RUNTIME], shift);
    }

    /** @param {number} share of all */
    sizeColor(share) {
        return this.sizes[sizeStep(share)];
    }

    /** @param {number} change as a share of the largest, negative for what has become less */
    growthColor(change) {
        const size = Math.abs(change);
        if (!(size >= GROWTH_STEPS[0])) return this.same;
        const step = size >= GROWTH_STEPS[2] ? 2 : size >= GROWTH_STEPS[1] ? 1 : 0;
        return change > 0 ? this.grown[step] : this.shrunk[step];
    }

    /**
     * @param {number} origin
     * @param {number} [rank] of the package or module
     */
    originColor(origin, rank = 0) {
        return originColor(this.isDark, origin, rank, 0);
    }
}
