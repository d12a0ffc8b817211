// @ts-check
// What is said about one node: the bar below the graph, the tip beside the pointer, the spoken line.
import { byId, makeElement } from './dom.js';
import { formatBytes, formatCount, formatShare } from './format.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./names.js').Names} Names */

/**
 * @typedef {object} Costs by node
 * @property {Float64Array} ownBytes
 * @property {Float64Array} totalBytes
 * @property {Float64Array} ownAllocations
 * @property {Float64Array} totalAllocations
 *
 * @typedef {object} Shown
 * @property {Tree} tree
 * @property {Names} names
 * @property {Costs} costs
 * @property {{isInverted: boolean}} state
 */

const PATH_BUTTONS = 60;
const HINT = 'Click a box to zoom to it; drag over the curves to select a time; ? lists all keys.';

/**
 * @param {Tree} tree
 * @param {number} node
 * @returns {number[]} the nodes from the root to a node
 */
export function pathTo(tree, node) {
    const path = [];
    for (let at = node; at >= 0; at = tree.parent[at]) path.push(at);
    return path.reverse();
}

/**
 * The stack of a node as text, as tracebacks are written: the outermost call first.
 * @param {Tree} tree
 * @param {Names} names
 * @param {number} node
 */
export function stackText(tree, names, node) {
    return pathTo(tree, node)
        .slice(1)
        .map((at) => `${names.functionOf(tree.frame[at])}  ${names.placeOf(tree.frame[at])}`.trim())
        .join('\n');
}

/**
 * @param {Shown} shown
 * @param {number} node
 * @returns {[string, string, string][]} name, value, share
 */
function numbersOf({ costs, state }, node) {
    const bytes = (/** @type {Float64Array} */ values) =>
        /** @type {[string, string]} */ ([
            formatBytes(values[node]),
            formatShare(values[node], costs.totalBytes[0]),
        ]);
    const blocks = costs.totalAllocations;
    /** @type {[string, string, string][]} */
    const numbers = [
        ['total', ...bytes(costs.totalBytes)],
        ['own', ...bytes(costs.ownBytes)],
        ['blocks', formatCount(blocks[node]), formatShare(blocks[node], blocks[0])],
    ];
    // Upside down, a box is what its callees own: nothing is its own.
    return state.isInverted ? numbers.filter(([name]) => name !== 'own') : numbers;
}

/**
 * Fill the bar below the graph.
 * @param {import('./app.js').App} app
 * @param {number} node
 */
export function showDetails(app, node) {
    const { tree, names } = app;
    const frame = tree.frame[node];
    byId('function').textContent = names.functionOf(frame);
    byId('place').textContent = names.placeOf(frame);
    byId('place').title = names.fileOf(frame);
    byId('source').textContent = names.sourceOf(frame);
    byId('numbers').replaceChildren(
        ...numbersOf(app, node).map(([name, value, share]) =>
            makeElement(
                'div',
                {},
                makeElement('dt', {}, name),
                makeElement('dd', {}, value, ' ', makeElement('span', { class: 'muted' }, share)),
            ),
        ),
    );
    const path = pathTo(tree, node);
    const list = byId('path');
    list.replaceChildren();
    if (node === 0) list.append(makeElement('li', { class: 'muted' }, HINT));
    for (const at of node === 0 ? [] : path.slice(-PATH_BUTTONS)) {
        const button = makeElement('button', { class: 'link' }, names.titleOf(tree.frame[at]));
        button.addEventListener('click', () => app.zoom(at));
        list.append(makeElement('li', {}, button));
    }
    list.scrollLeft = node === 0 ? 0 : list.scrollWidth;
    const isFunction = frame >= 0 && frame < names.recorded;
    const module = isFunction ? names.moduleOf(frame) : '';
    byId('actions').hidden = !isFunction;
    byId('act-collapse').hidden = module === '';
    byId('act-collapse').textContent = `One box for ${module}`;
}

/**
 * @param {Shown} shown
 * @param {number} node
 * @param {PointerEvent} event
 */
export function showTip(shown, node, event) {
    const { tree, names } = shown;
    const tip = byId('tip');
    const frame = tree.frame[node];
    const place = names.placeOf(frame);
    const source = names.sourceOf(frame);
    const numbers = makeElement('dl');
    for (const [name, value, share] of numbersOf(shown, node)) {
        numbers.append(
            makeElement('dt', {}, name),
            makeElement('dd', {}, value),
            makeElement('dd', {}, share),
        );
    }
    tip.replaceChildren(makeElement('strong', {}, names.functionOf(frame)));
    if (place) tip.append(makeElement('div', { class: 'code' }, place));
    if (source) tip.append(makeElement('div', { class: 'code source' }, source));
    tip.append(numbers);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8));
    const isBelow = event.clientY + 18 + height < window.innerHeight;
    const y = isBelow ? event.clientY + 18 : Math.max(4, event.clientY - height - 12);
    tip.style.left = `${x}px`;
    tip.style.top = `${y}px`;
}

/**
 * @param {Tree} tree
 * @param {Names} names
 * @param {Costs} costs
 * @param {number} node
 * @returns {string} for those who hear the page
 */
export function spokenNode(tree, names, costs, node) {
    const frame = tree.frame[node];
    const place = names.placeOf(frame);
    return (
        `${names.functionOf(frame)}${place ? ` at ${place}` : ''}, ` +
        `${formatBytes(costs.totalBytes[node])}, ` +
        `${formatShare(costs.totalBytes[node], costs.totalBytes[0])}, depth ${tree.depth[node]}`
    );
}
