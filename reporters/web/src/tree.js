// @ts-check
// Trees as they are drawn: the recorded one, without the runtime's frames, or from the leaves up.

/** @typedef {import('./model.js').Model} Model */

/**
 * @typedef {object} Tree preorder; node 0 is the root and has frame -1
 * @property {number} count
 * @property {Int32Array} parent the root's is -1
 * @property {Uint32Array} depth
 * @property {Int32Array} frame
 * @property {Uint32Array} end first node behind the subtree
 * @property {Uint32Array} site of each recorded node: the node here that owns what it allocated
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
 * @param {Model} model
 * @returns {Tree} the tree as it was recorded
 */
function recordedTree(model) {
    const site = new Uint32Array(model.nodes.count);
    for (let i = 0; i < site.length; i++) site[i] = i;
    return finishTree({ ...model.nodes, site });
}

/** A tree that grows by adding children; its nodes are in the order of their coming. */
class Trie {
    constructor() {
        /** @type {number[]} */
        this.parent = [-1];
        /** @type {number[]} */
        this.frame = [-1];
        /** @type {Map<number, number>} */
        this.children = new Map();
    }

    /**
     * @param {number} parent
     * @param {number} frame
     * @param {number} frameCount
     */
    child(parent, frame, frameCount) {
        const key = parent * frameCount + frame;
        let child = this.children.get(key);
        if (child === undefined) {
            child = this.parent.length;
            this.parent.push(parent);
            this.frame.push(frame);
            this.children.set(key, child);
        }
        return child;
    }
}

/**
 * Weights that order siblings: the peak of the whole run, then all that was allocated.
 * @param {Model} model
 * @param {Trie} trie
 * @param {Uint32Array} site
 */
function weigh(model, trie, site) {
    const weights = new Float64Array(trie.parent.length);
    const { count, node, bytes } = model.rows;
    const [peak, , allocated] = bytes;
    // The second key only decides where the first does not: a fraction of a byte.
    let most = 1;
    for (let i = 0; i < count; i++) most += allocated[i];
    for (let i = 0; i < count; i++) weights[site[node[i]]] += peak[i] + (0.5 * allocated[i]) / most;
    for (let i = weights.length - 1; i > 0; i--) weights[trie.parent[i]] += weights[i];
    return weights;
}

/**
 * Put a trie into preorder, larger siblings first.
 * @param {Model} model
 * @param {Trie} trie
 * @param {Uint32Array} site of recorded nodes in the trie
 * @returns {Tree}
 */
function sortTrie(model, trie, site) {
    const count = trie.parent.length;
    const weights = weigh(model, trie, site);
    const first = new Uint32Array(count + 1);
    for (let i = 1; i < count; i++) first[trie.parent[i] + 1]++;
    for (let i = 0; i < count; i++) first[i + 1] += first[i];
    const next = first.slice();
    const children = new Uint32Array(count);
    for (let i = 1; i < count; i++) children[next[trie.parent[i]]++] = i;

    const parent = new Int32Array(count);
    const depth = new Uint32Array(count);
    const frame = new Int32Array(count);
    const place = new Uint32Array(count);
    const waiting = [0];
    for (let at = 0; at < count; at++) {
        const node = /** @type {number} */ (waiting.pop());
        place[node] = at;
        parent[at] = node === 0 ? -1 : place[trie.parent[node]];
        depth[at] = node === 0 ? 0 : depth[parent[at]] + 1;
        frame[at] = trie.frame[node];
        const siblings = children.subarray(first[node], first[node + 1]);
        siblings.sort((a, b) => weights[b] - weights[a] || a - b);
        for (let i = siblings.length - 1; i >= 0; i--) waiting.push(siblings[i]);
    }
    return finishTree({ count, parent, depth, frame, site: site.map((node) => place[node]) });
}

/**
 * @typedef {object} Shape
 * @property {boolean} isInverted
 * @property {boolean} showsRuntime
 * @property {boolean} foldsRecursion
 */

/**
 * @param {Model} model
 * @param {Shape} shape
 * @returns {(above: number, frame: number) => boolean} whether a frame has no box of its own in one
 *     whose frame is `above`: what it holds is that one's
 */
function leftOut({ frames }, { showsRuntime, foldsRecursion }) {
    return (above, frame) =>
        (!showsRuntime && frames.isRuntime[frame] === 1) ||
        (foldsRecursion && above >= 0 && isSameFunction(frames, above, frame));
}

/**
 * @param {import('./model.js').Frames} frames
 * @param {number} one
 * @param {number} other
 */
function isSameFunction(frames, one, other) {
    return (
        frames.function[one] === frames.function[other] &&
        frames.file[one] === frames.file[other] &&
        frames.kind[one] === frames.kind[other]
    );
}

/** @param {Model} model @returns {boolean} whether any function calls itself */
export function hasRecursion({ nodes, frames }) {
    for (let i = 1; i < nodes.count; i++) {
        const above = nodes.frame[nodes.parent[i]];
        if (above >= 0 && isSameFunction(frames, above, nodes.frame[i])) return true;
    }
    return false;
}

/**
 * The tree without some frames: what they allocated is their callers'.
 * @param {Model} model
 * @param {Shape} shape
 */
function reducedTree(model, shape) {
    const { nodes, frames } = model;
    const trie = new Trie();
    const site = new Uint32Array(nodes.count);
    const isLeftOut = leftOut(model, shape);
    for (let i = 1; i < nodes.count; i++) {
        const parent = site[nodes.parent[i]];
        const frame = nodes.frame[i];
        site[i] = isLeftOut(trie.frame[parent], frame)
            ? parent
            : trie.child(parent, frame, frames.count);
    }
    return sortTrie(model, trie, site);
}

/**
 * The tree from the leaves up: below each frame those that called it.
 * @param {Model} model
 * @param {Shape} shape
 */
function inverted(model, shape) {
    const { nodes, frames, rows } = model;
    const trie = new Trie();
    const site = new Uint32Array(nodes.count);
    const isLeftOut = leftOut(model, shape);
    for (let i = 0; i < rows.count; i++) {
        const start = rows.node[i];
        if (site[start] !== 0) continue;
        let place = 0;
        for (let node = start; node > 0; node = nodes.parent[node]) {
            const frame = nodes.frame[node];
            if (isLeftOut(trie.frame[place], frame)) continue;
            place = trie.child(place, frame, frames.count);
        }
        site[start] = place;
    }
    return sortTrie(model, trie, site);
}

/**
 * @param {Model} model
 * @param {Shape} shape
 * @returns {Tree}
 */
export function buildTree(model, shape) {
    const showsRuntime = shape.showsRuntime || !model.frames.isRuntime.includes(1);
    if (shape.isInverted) return inverted(model, shape);
    if (showsRuntime && !shape.foldsRecursion) return recordedTree(model);
    return reducedTree(model, shape);
}

/**
 * Bring costs of rows to the nodes of a tree.
 * @param {Model} model
 * @param {Tree} tree
 * @param {Float64Array} costs by row
 * @returns {Float64Array} by node, without what is below
 */
export function ownCosts(model, tree, costs) {
    const own = new Float64Array(tree.count);
    const { node } = model.rows;
    for (let i = 0; i < costs.length; i++) own[tree.site[node[i]]] += costs[i];
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
