// @ts-check
// Trees as they are drawn: in preorder, with the sums of what their rows hold.
import { NOWHERE, arrange, leaveOut, recordedForest } from './forest.js';
import { KIND_INLINED, KIND_NATIVE, isSameFunction } from './names.js';
import { applyStep } from './steps.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {import('./forest.js').Forest} Forest */
/** @typedef {import('./steps.js').Step} Step */

/**
 * @typedef {object} Tree preorder; node 0 is the root and has frame -1
 * @property {number} count
 * @property {Int32Array} parent the root's is -1
 * @property {Uint32Array} depth
 * @property {Int32Array} frame
 * @property {Uint32Array} end first node behind the subtree
 * @property {Uint32Array} site by row: the node that owns what it allocated, or NOWHERE
 * @property {number} height the greatest depth
 *
 * @typedef {object} Layout
 * @property {Float64Array} own what the node itself allocated
 * @property {Float64Array} total with everything below
 * @property {Float64Array} left where its box begins, in the same unit
 */

/**
 * @param {Omit<Tree, 'end' | 'height'>} parts
 * @returns {Tree}
 */
function finishTree(parts) {
    const { count, parent, depth } = parts;
    const end = new Uint32Array(count);
    let height = 0;
    for (let i = count - 1; i >= 0; i--) {
        if (end[i] === 0) end[i] = i + 1;
        if (i > 0 && end[i] > end[parent[i]]) end[parent[i]] = end[i];
        if (depth[i] > height) height = depth[i];
    }
    return { ...parts, end, height };
}

/**
 * Weights that order siblings: the peak of the whole run, then all that was allocated.
 * @param {Model} model
 * @param {Forest} forest
 */
function weigh(model, { count, parent, site }) {
    const weights = new Float64Array(count);
    const { rows } = model;
    const [peak, , allocated] = rows.bytes;
    // The second key only decides where the first does not: a fraction of a byte.
    let most = 1;
    for (let i = 0; i < rows.count; i++) most += allocated[i];
    for (let i = 0; i < rows.count; i++) {
        if (site[i] !== NOWHERE) weights[site[i]] += peak[i] + (0.5 * allocated[i]) / most;
    }
    for (let i = count - 1; i > 0; i--) weights[parent[i]] += weights[i];
    return weights;
}

/**
 * Put a forest into preorder, larger siblings first.
 * @param {Model} model
 * @param {Forest} forest
 * @returns {Tree}
 */
export function sortForest(model, forest) {
    const { count } = forest;
    const weights = weigh(model, forest);
    const first = new Uint32Array(count + 1);
    for (let i = 1; i < count; i++) first[forest.parent[i] + 1]++;
    for (let i = 0; i < count; i++) first[i + 1] += first[i];
    const next = first.slice();
    const children = new Uint32Array(count);
    for (let i = 1; i < count; i++) children[next[forest.parent[i]]++] = i;

    const parent = new Int32Array(count);
    const depth = new Uint32Array(count);
    const frame = new Int32Array(count);
    const place = new Uint32Array(count);
    const waiting = new Uint32Array(count);
    let waitingCount = 1;
    for (let at = 0; at < count; at++) {
        const node = waiting[--waitingCount];
        place[node] = at;
        parent[at] = node === 0 ? -1 : place[forest.parent[node]];
        depth[at] = node === 0 ? 0 : depth[parent[at]] + 1;
        frame[at] = forest.frame[node];
        const siblings = children.subarray(first[node], first[node + 1]);
        if (siblings.length > 1) siblings.sort((a, b) => weights[b] - weights[a] || a - b);
        for (let i = siblings.length - 1; i >= 0; i--) waiting[waitingCount++] = siblings[i];
    }
    const site = forest.site.map((node) => (node === NOWHERE ? NOWHERE : place[node]));
    return finishTree({ count, parent, depth, frame, site });
}

/**
 * @typedef {object} Shape
 * @property {boolean} isInverted
 * @property {boolean} showsRuntime
 * @property {boolean} [hidesNative]
 * @property {boolean} [foldsRecursion]
 * @property {Step[]} [steps]
 * @property {Int32Array | null} [groups] by row: the frame of its group, for a level of them
 */

/** @param {Model} model @returns {boolean} whether any function calls itself */
export function hasRecursion({ nodes, frames }) {
    for (let i = 1; i < nodes.count; i++) {
        const above = nodes.frame[nodes.parent[i]];
        if (above >= 0 && isSameFunction(frames, above, nodes.frame[i])) return true;
    }
    return false;
}

/** @param {Model} model @returns {boolean} whether there are frames of other languages */
export function hasNative({ frames }) {
    return frames.kind.includes(KIND_NATIVE) || frames.kind.includes(KIND_INLINED);
}

/**
 * The nodes that a shape shows, callers first.
 * @param {Model} model
 * @param {Shape} shape
 * @param {Names} names
 * @param {Map<string, number>} modules frames of modules' boxes
 * @returns {Forest}
 */
export function buildForest(model, shape, names, modules) {
    const { frames } = model;
    const hidesRuntime = !shape.showsRuntime && frames.isRuntime.includes(1);
    const hidesNative = shape.hidesNative && hasNative(model);
    let forest = recordedForest(model);
    if (hidesRuntime || hidesNative || shape.foldsRecursion) {
        forest = leaveOut(
            forest,
            (above, frame) =>
                (hidesRuntime && frames.isRuntime[frame] === 1) ||
                (hidesNative &&
                    (frames.kind[frame] === KIND_NATIVE || frames.kind[frame] === KIND_INLINED)) ||
                (shape.foldsRecursion === true &&
                    above >= 0 &&
                    isSameFunction(frames, above, frame)),
        );
    }
    for (const step of shape.steps ?? []) forest = applyStep(forest, step, names, modules);
    return forest;
}

/**
 * @param {Model} model
 * @param {Forest} forest as buildForest() made it
 * @param {Shape} shape
 * @returns {Tree}
 */
export function arrangeTree(model, forest, { isInverted, groups = null }) {
    if (isInverted || groups) return sortForest(model, arrange(forest, isInverted, groups));
    const isRecorded = forest.parent === model.nodes.parent;
    // It stands in this order already, and its nodes have their depths.
    if (isRecorded) return finishTree({ ...model.nodes, site: forest.site });
    return sortForest(model, forest);
}

/**
 * Bring costs of rows to the nodes of a tree.
 * @param {Tree} tree
 * @param {Float64Array} costs by row
 * @returns {Float64Array} by node, without what is below
 */
export function ownCosts({ count, site }, costs) {
    const own = new Float64Array(count);
    for (let i = 0; i < costs.length; i++) if (site[i] !== NOWHERE) own[site[i]] += costs[i];
    return own;
}

/**
 * @param {Tree} tree
 * @param {Float64Array} own
 * @returns {Float64Array} each node's cost with everything below it
 */
export function totalCosts(tree, own) {
    const total = own.slice();
    for (let i = tree.count - 1; i > 0; i--) total[tree.parent[i]] += total[i];
    return total;
}

/**
 * @param {Tree} tree
 * @param {Float64Array} own
 * @returns {Layout}
 */
export function layoutTree(tree, own) {
    const total = totalCosts(tree, own);
    const left = new Float64Array(tree.count);
    const used = new Float64Array(tree.count);
    for (let i = 1; i < tree.count; i++) {
        const parent = tree.parent[i];
        left[i] = left[parent] + used[parent];
        used[parent] += total[i];
    }
    return { own, total, left };
}
