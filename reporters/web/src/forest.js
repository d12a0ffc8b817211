// @ts-check
// Ways to make another tree of a tree: frames left out, one function alone, callers first. Each takes
// the nodes and, for each row, the node that holds it; parents stand before their children.
import { Trie } from './trie.js';

/** @typedef {import('./model.js').Model} Model */

/**
 * @typedef {object} Forest
 * @property {number} count
 * @property {Int32Array} parent
 * @property {Int32Array} frame
 * @property {Uint32Array} site by row: the node that owns what it allocated, or NOWHERE
 */

/** The place of rows that are not shown. */
export const NOWHERE = 0xffffffff;

/** @param {Model} model @returns {Forest} the tree as it was recorded */
export function recordedForest({ nodes, rows }) {
    return { count: nodes.count, parent: nodes.parent, frame: nodes.frame, site: rows.node };
}

/**
 * Build another tree node by node.
 * @param {Forest} forest
 * @param {(trie: Trie, above: number, frame: number) => number} place the node's place below that of
 *     its parent; NOWHERE for none
 * @returns {Forest}
 */
function mapForest(forest, place) {
    const { count, parent, frame, site } = forest;
    const trie = new Trie(count);
    const places = new Uint32Array(count);
    for (let node = 1; node < count; node++) {
        places[node] = place(trie, places[parent[node]], frame[node]);
    }
    return {
        count: trie.count,
        parent: trie.parent,
        frame: trie.frame,
        site: site.map((node) => (node === NOWHERE ? NOWHERE : places[node])),
    };
}

/**
 * Leave frames out: what they hold is their callers'.
 * @param {Forest} forest
 * @param {(above: number, frame: number) => boolean} isLeftOut above: the frame of the box above, or -1
 */
export function leaveOut(forest, isLeftOut) {
    return mapForest(forest, (trie, above, frame) =>
        isLeftOut(trie.frame[above], frame) ? above : trie.child(above, frame),
    );
}

/**
 * Leave out all stacks that have one of these frames.
 * @param {Forest} forest
 * @param {Uint8Array} mask by frame
 */
export function removeStacks(forest, mask) {
    return mapForest(forest, (trie, above, frame) =>
        above === NOWHERE || mask[frame] ? NOWHERE : trie.child(above, frame),
    );
}

/**
 * Only what stands at and below the outermost of these frames; they become the outermost calls.
 * @param {Forest} forest
 * @param {Uint8Array} mask by frame
 */
export function focusOn(forest, mask) {
    const shown = mapForest(forest, (trie, above, frame) => {
        if (above !== NOWHERE && above !== 0) return trie.child(above, frame);
        return mask[frame] ? trie.child(0, frame) : NOWHERE;
    });
    // What the outermost frame itself held is of no stack that is left.
    return { ...shown, site: shown.site.map((node) => (node === 0 ? NOWHERE : node)) };
}

/**
 * Only stacks that have one of these frames, from their beginning.
 * @param {Forest} forest
 * @param {Uint8Array} mask by frame
 * @returns {Forest}
 */
export function keepStacks(forest, mask) {
    const { count, parent, frame, site } = forest;
    const isInside = new Uint8Array(count);
    for (let node = 1; node < count; node++)
        isInside[node] = isInside[parent[node]] || mask[frame[node]];
    return {
        ...forest,
        site: site.map((node) => (node !== NOWHERE && isInside[node] ? node : NOWHERE)),
    };
}

/**
 * Frames that follow one another become one box.
 * @param {Forest} forest
 * @param {Uint8Array} mask by frame
 * @param {number} box its frame
 */
export function collapse(forest, mask, box) {
    return mapForest(forest, (trie, above, frame) => {
        if (!mask[frame]) return trie.child(above, frame);
        return trie.frame[above] === box ? above : trie.child(above, box);
    });
}

/**
 * The tree from the leaves up, or with a level of groups below the root, or both.
 * @param {Forest} forest
 * @param {boolean} isInverted below each frame those that called it
 * @param {Int32Array | null} groups by row: frame of its group
 * @returns {Forest}
 */
export function arrange(forest, isInverted, groups) {
    const { count, parent, frame } = forest;
    const trie = new Trie(count);
    const site = new Uint32Array(forest.site.length);
    /** @type {Map<number, number>} places by group and node */
    const known = new Map();
    /** @type {number[]} */
    const path = [];
    for (let row = 0; row < site.length; row++) {
        const start = forest.site[row];
        site[row] = NOWHERE;
        if (start === NOWHERE) continue;
        const group = groups ? groups[row] : -1;
        const key = (group + 1) * count + start;
        let place = known.get(key);
        if (place === undefined) {
            path.length = 0;
            for (let node = start; node > 0; node = parent[node]) path.push(frame[node]);
            if (!isInverted) path.reverse();
            place = group >= 0 ? trie.child(0, group) : 0;
            for (const one of path) place = trie.child(place, one);
            known.set(key, place);
        }
        site[row] = place;
    }
    return { count: trie.count, parent: trie.parent, frame: trie.frame, site };
}

/**
 * What one function calls, or what calls it: the root is the function.
 * @param {Forest} forest
 * @param {Uint8Array} mask of the function's frames
 * @param {number} box the root's frame
 * @param {boolean} isCallers
 * @returns {Forest}
 */
export function around(forest, mask, box, isCallers) {
    const { count, parent, frame } = forest;
    const trie = new Trie(Math.min(count, 1 << 16));
    trie.frame[0] = box;
    // Of each node: the outermost call of the function at or above it, -1 for none.
    const outermost = new Int32Array(count).fill(-1);
    const places = new Uint32Array(count).fill(NOWHERE);
    for (let node = 1; node < count; node++) {
        const above = parent[node];
        if (outermost[above] >= 0) {
            outermost[node] = outermost[above];
            places[node] = isCallers ? places[above] : trie.child(places[above], frame[node]);
        } else if (mask[frame[node]]) {
            outermost[node] = node;
            places[node] = 0;
            for (let at = above; isCallers && at > 0; at = parent[at]) {
                places[node] = trie.child(places[node], frame[at]);
            }
        }
    }
    return {
        count: trie.count,
        parent: trie.parent,
        frame: trie.frame,
        site: forest.site.map((node) => (node === NOWHERE ? NOWHERE : places[node])),
    };
}
