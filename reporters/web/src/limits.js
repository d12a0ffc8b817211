// @ts-check
// Limits of memory and what failed: which limits are drawn on the time axis, and what is said of them.
import { formatBytes, formatCount, formatTime } from './format.js';

/**
 * @typedef {object} Limit
 * @property {string} limit its short name, such as memory.max
 * @property {string} name whose it is, too
 * @property {number} bytes at the instant at which least was left
 * @property {number} left
 * @property {number} time
 * @property {[number, number | null][]} steps the limit from each instant on; null: none
 */

/** A limit beyond so many times what is drawn would leave no room for it. */
const FAR_TIMES = 4;
const MAX_DRAWN = 3;

/**
 * @param {Limit[]} limits the nearest first
 * @param {number} most the highest that the time axis shows
 * @returns {{limit: string, steps: [number, number | null][], highest: number}[]} those to be drawn;
 *     steps that are too far away are null
 */
export function drawnLimits(limits, most) {
    const drawn = [];
    const known = new Set();
    for (const { limit, steps } of limits) {
        /** @type {[number, number | null][]} */
        const near = steps.map(([ns, bytes]) => [
            ns,
            bytes !== null && bytes <= FAR_TIMES * most ? bytes : null,
        ]);
        const highest = Math.max(...near.map(([, bytes]) => bytes ?? 0));
        // Processes of one limit have equal lines.
        const key = `${limit} ${[...new Set(near.map(([, bytes]) => bytes))].join(' ')}`;
        if (highest === 0 || known.has(key) || drawn.length === MAX_DRAWN) continue;
        known.add(key);
        drawn.push({ limit, steps: near, highest });
    }
    return drawn;
}

/** @param {Limit} limit @returns {string} how near it came */
export function nearnessText({ bytes, left, time }) {
    const how = left > 0 ? `came within ${formatBytes(left)} of it` : 'was reached';
    return `${formatBytes(bytes)}, ${how} at ${formatTime(time)}`;
}

/** @param {any} meta @returns {[string, string][]} name and text of each limit */
export function limitFacts(meta) {
    return meta.limits.map((/** @type {Limit} */ limit) => [limit.name, nearnessText(limit)]);
}

/** @param {number} count */
export function failedText(count) {
    return `${formatCount(count)} failed allocation${count === 1 ? '' : 's'}`;
}
