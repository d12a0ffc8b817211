// @ts-check
// Search over frames, not nodes: what is written is compared with each frame's texts once.

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./names.js').Names} Names */

/**
 * @typedef {object} Matches
 * @property {Uint8Array} frames 1 where a frame matches
 * @property {Uint32Array} nodes matching nodes that have no matching node above them, in order
 * @property {number} total what these nodes hold together
 */

/**
 * @param {string} text
 * @param {boolean} isRegex
 * @returns {{test: ((text: string) => boolean) | null, error: string}} test: null for no search
 */
export function makeMatcher(text, isRegex) {
    if (text === '') return { test: null, error: '' };
    if (isRegex) {
        try {
            const pattern = new RegExp(text, 'i');
            return { test: (candidate) => pattern.test(candidate), error: '' };
        } catch (error) {
            const reason = String(/** @type {Error} */ (error).message).replace(/^.*: /, '');
            return { test: null, error: `not a regular expression: ${reason.toLowerCase()}` };
        }
    }
    const wanted = text.toLowerCase();
    return { test: (candidate) => candidate.toLowerCase().includes(wanted), error: '' };
}

/**
 * @param {Names} names
 * @param {(text: string) => boolean} test
 * @returns {Uint8Array} by frame
 */
export function matchFrames(names, test) {
    const matches = new Uint8Array(names.model.frames.count);
    for (let frame = 0; frame < matches.length; frame++) {
        if (
            test(names.functionOf(frame)) ||
            test(names.placeOf(frame)) ||
            test(names.fileOf(frame))
        ) {
            matches[frame] = 1;
        }
    }
    return matches;
}

/**
 * @param {Tree} tree
 * @param {Float64Array} total by node
 * @param {Uint8Array} frames
 * @returns {Matches}
 */
export function matchNodes(tree, total, frames) {
    const nodes = [];
    let sum = 0;
    for (let i = 1; i < tree.count;) {
        if (frames[tree.frame[i]] && total[i] > 0) {
            nodes.push(i);
            sum += total[i];
            i = tree.end[i];
        } else {
            i++;
        }
    }
    return { frames, nodes: Uint32Array.from(nodes), total: sum };
}
