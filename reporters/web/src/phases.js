// @ts-check
// Phases of the program above the curves: each a bar with its name, one that lies in another below it.

/** @typedef {[number, number, string, number]} Phase from, to, name, peak */

/**
 * @typedef {object} PlacedPhase
 * @property {number} from nanoseconds
 * @property {number} to nanoseconds
 * @property {string} name
 * @property {number} peak bytes
 * @property {number} row
 */

/**
 * Give each phase a row in which it overlaps none.
 * @param {Phase[]} phases by their beginning
 * @param {number} most rows; what finds none is left out
 * @returns {PlacedPhase[]}
 */
export function placePhases(phases, most) {
    /** @type {number[]} where each row's last phase ends */
    const ends = [];
    const placed = [];
    for (const [from, to, name, peak] of phases) {
        let row = 0;
        while (row < ends.length && ends[row] > from) row++;
        if (row >= most) continue;
        ends[row] = to;
        placed.push({ from, to, name, peak, row });
    }
    return placed;
}
