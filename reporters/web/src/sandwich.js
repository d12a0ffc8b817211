// @ts-check
// Callers and callees of one function: above it who called it, below it what it called, beside them
// the functions to choose from.
import { byId, makeElement } from './dom.js';
import { showTip, spokenNode } from './details.js';
import { Flame, ROW_PIXELS } from './flame.js';
import { around } from './forest.js';
import { formatBytes, formatCount, formatShare } from './format.js';
import { targetMask } from './steps.js';
import { groupFrames, sortRows, sumGroups } from './table.js';
import { layoutTree, ownCosts, sortForest, totalCosts } from './tree.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./tree.js').Tree} Tree */

const LISTED = 200;

/** One of the two graphs. */
class Half {
    /** @type {Tree} */
    tree;
    /** @type {import('./details.js').Costs} */
    costs;

    /**
     * @param {App} app
     * @param {string} title
     * @param {boolean} isCallers
     */
    constructor(app, title, isCallers) {
        this.app = app;
        this.isCallers = isCallers;
        const canvas = /** @type {HTMLCanvasElement} */ (
            makeElement('canvas', {
                role: 'application',
                tabindex: '0',
                'aria-label': `${title} as a graph. Arrow keys move the selection, Enter chooses it.`,
            })
        );
        const spacer = makeElement('div');
        const scroller = makeElement('div', { class: 'scroller' }, canvas, spacer);
        this.element = makeElement('section', {}, makeElement('h2', {}, title), scroller);
        this.graph = new Flame(canvas, scroller, spacer, {
            labelOf: (at) => app.labelOf(this.tree.frame[at]),
            sizeOf: (at) => app.formatValue(this.graph.layout.total[at]),
            asideOf: (at) => app.asideOf(this.tree.frame[at]),
            colorOf: (at) => app.palette.boxColor(this.tree.frame[at]),
            onHover: (at, event) => this.hover(at, event),
            onClick: (at) => app.showFunction(this.tree.frame[at]),
        });
        this.graph.isUpward = isCallers;
        canvas.addEventListener('keydown', (event) => this.key(event));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const { app, graph, tree } = this;
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === 'Enter') app.showFunction(tree.frame[graph.selected]);
        else if (event.key.startsWith('Arrow')) {
            const node = graph.neighbour(event.key);
            if (node < 0) return;
            graph.selected = node;
            graph.reveal(node);
            graph.draw();
            byId('speak').textContent = spokenNode(tree, app.names, this.costs, node);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /**
     * @param {number} node
     * @param {PointerEvent | null} event
     */
    hover(node, event) {
        const { app, tree, costs } = this;
        if (node < 0 || !event) byId('tip').hidden = true;
        else showTip({ tree, costs, names: app.names, state: { isInverted: true } }, node, event);
    }

    /**
     * @param {Uint8Array} mask
     * @param {number} frame
     */
    choose(mask, frame) {
        const { app } = this;
        this.tree = sortForest(app.model, around(app.forest, mask, frame, this.isCallers));
        this.graph.zoomed = this.graph.selected = 0;
    }

    draw() {
        const { app, graph, tree } = this;
        const bytes = ownCosts(tree, app.rows.bytes);
        const allocations = ownCosts(tree, app.rows.allocations);
        this.costs = {
            ownBytes: bytes,
            ownAllocations: allocations,
            totalBytes: totalCosts(tree, bytes),
            totalAllocations: totalCosts(tree, allocations),
        };
        graph.paint(app.palette);
        graph.matches = app.matches ? app.matches.frames : null;
        graph.show(tree, layoutTree(tree, app.state.metric === 'bytes' ? bytes : allocations));
        // As high as it is, where there is room: the other has what is left.
        if (this.isCallers) graph.scroller.style.height = `${graph.rows * ROW_PIXELS}px`;
    }

    /** Draw, once both halves have their heights. */
    paint() {
        this.graph.turn(this.isCallers);
        this.graph.resize();
        this.graph.draw();
    }
}

export class Sandwich {
    /** @type {import('./forest.js').Forest | null} of which the trees are */
    forest = null;
    target = '';

    /**
     * @param {HTMLElement} panel
     * @param {App} app
     */
    constructor(panel, app) {
        this.app = app;
        this.callers = new Half(app, 'Callers', true);
        this.callees = new Half(app, 'Callees', false);
        this.head = makeElement('p', { class: 'sandwich-head' });
        this.list = makeElement('ol', { class: 'functions', 'aria-label': 'Functions' });
        panel.replaceChildren(
            this.list,
            makeElement(
                'div',
                { class: 'sandwich' },
                this.head,
                this.callers.element,
                this.callees.element,
            ),
        );
    }

    draw() {
        const { app } = this;
        const rows = this.fillList();
        const { names, state } = app;
        let mask = targetMask(names, 'f' + state.target);
        if (!mask.includes(1)) {
            const selected = app.tree.frame[app.flame.selected];
            const frame = selected >= 0 && selected < names.recorded ? selected : rows[0]?.frame;
            if (frame === undefined) return this.showNothing();
            state.target = names.keyOf(frame);
            mask = targetMask(names, 'f' + state.target);
        }
        const frame = mask.indexOf(1);
        if (this.forest !== app.forest || this.target !== state.target) {
            this.forest = app.forest;
            this.target = state.target;
            this.callers.choose(mask, frame);
            this.callees.choose(mask, frame);
        }
        this.callers.draw();
        this.callees.draw();
        this.fillHead(frame);
        this.callers.paint();
        this.callees.paint();
    }

    showNothing() {
        this.head.textContent = 'There is no memory in this view.';
    }

    /** @param {number} frame */
    fillHead(frame) {
        const { app, callees } = this;
        const { names, costs, state } = app;
        const isCount = state.metric === 'count';
        const shown = isCount ? callees.costs.totalAllocations : callees.costs.totalBytes;
        const all = isCount ? costs.totalAllocations[0] : costs.totalBytes[0];
        const own = isCount ? callees.costs.ownAllocations[0] : callees.costs.ownBytes[0];
        this.head.replaceChildren(
            makeElement('strong', {}, names.titleOf(frame)),
            ' ',
            makeElement('span', { class: 'code muted' }, names.pathOf(frame)),
            makeElement(
                'span',
                { class: 'grow' },
                ` ${app.formatValue(shown[0])} (${formatShare(shown[0], all)}), own ${app.formatValue(own)}`,
            ),
        );
    }

    /** The functions with the most; those that are searched for. */
    fillList() {
        const { app } = this;
        const { names, state, matches } = app;
        const tree = app.plainTree();
        let rows = sumGroups(tree, groupFrames(names, false), app.costsOf(tree));
        if (matches) rows = rows.filter((row) => matches.frames[row.frame]);
        sortRows(rows, state.metric === 'bytes' ? 'total' : 'allocations', false, names);
        this.list.replaceChildren(
            ...rows.slice(0, LISTED).map((row) => {
                const isChosen = names.keyOf(row.frame) === state.target;
                const button = makeElement(
                    'button',
                    { class: 'plain', title: names.placeOf(row.frame) },
                    makeElement('span', {}, names.titleOf(row.frame)),
                    makeElement(
                        'span',
                        { class: 'number' },
                        state.metric === 'bytes'
                            ? formatBytes(row.total)
                            : formatCount(row.allocations),
                    ),
                );
                if (isChosen) button.setAttribute('aria-current', 'true');
                button.addEventListener('click', () => app.showFunction(row.frame));
                return makeElement('li', {}, button);
            }),
        );
        return rows;
    }
}
