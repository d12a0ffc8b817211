// @ts-check
// The tree as text: rows that open and close, the same boxes and numbers as the graph.
import { makeElement } from './dom.js';
import { formatBytes, formatCount, formatShare } from './format.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./tree.js').Tree} Tree */

const OPEN_SHARE = 0.1;
const OPEN_DEPTH = 12;
const TREE_ROWS = 500;
const INDENT_PIXELS = 14;
const DEEPEST_INDENT = 40;

export class TreeTable {
    /** @type {Tree | null} */
    tree = null;
    /** @type {Set<number>} */
    open = new Set();
    focused = 0;
    limit = TREE_ROWS;

    /**
     * @param {HTMLElement} panel
     * @param {App} app
     */
    constructor(panel, app) {
        this.panel = panel;
        this.app = app;
        panel.addEventListener('keydown', (event) => this.key(event));
    }

    /** Open what holds much, once for each tree. */
    openLarge() {
        const { tree, costs } = this.app;
        this.tree = tree;
        this.open = new Set([0]);
        this.focused = 0;
        this.limit = TREE_ROWS;
        for (let node = 1; node < tree.count; node++) {
            const isLarge = costs.totalBytes[node] >= OPEN_SHARE * costs.totalBytes[0];
            if (isLarge && tree.depth[node] < OPEN_DEPTH) this.open.add(node);
        }
    }

    /** @param {number} node @returns {number[]} its children, those with the most first */
    childrenOf(node) {
        const { tree, layout } = this.app;
        const children = [];
        for (let at = node + 1; at < tree.end[node]; at = tree.end[at]) {
            if (layout.total[at] > 0) children.push(at);
        }
        return children.sort((a, b) => layout.total[b] - layout.total[a] || a - b);
    }

    /** @returns {number[]} the nodes of the rows, from the top down */
    rows() {
        const rows = [];
        const waiting = [0];
        while (waiting.length > 0 && rows.length < this.limit) {
            const node = /** @type {number} */ (waiting.pop());
            rows.push(node);
            if (this.open.has(node)) waiting.push(...this.childrenOf(node).reverse());
        }
        this.isCut = waiting.length > 0;
        return rows;
    }

    draw() {
        const { app } = this;
        if (this.tree !== app.tree) this.openLarge();
        const hadFocus = this.panel.contains(document.activeElement);
        const body = makeElement('tbody');
        for (const node of this.rows()) body.append(this.makeRow(node));
        const head = makeElement('tr');
        for (const [title, name] of [
            ['Function', ''],
            ['Total', 'number'],
            ['%', 'number'],
            ['Own', 'number'],
            ['Blocks', 'number'],
            ['Location', ''],
        ]) {
            head.append(makeElement('th', { scope: 'col', class: name }, title));
        }
        const table = makeElement(
            'table',
            { role: 'treegrid', 'aria-label': 'The tree of calls' },
            makeElement('thead', {}, head),
            body,
        );
        this.panel.replaceChildren(table);
        if (this.isCut) this.panel.append(this.makeMore());
        if (hadFocus) this.focusRow();
    }

    makeMore() {
        const button = makeElement('button', { class: 'more' }, 'Show more rows');
        button.addEventListener('click', () => {
            this.limit += TREE_ROWS;
            this.draw();
        });
        return button;
    }

    /** @param {number} node */
    hasChildren(node) {
        const { tree, layout } = this.app;
        for (let at = node + 1; at < tree.end[node]; at = tree.end[at]) {
            if (layout.total[at] > 0) return true;
        }
        return false;
    }

    /** @param {number} node */
    makeRow(node) {
        const { names, tree, costs, matches } = this.app;
        const frame = tree.frame[node];
        const isOpen = this.open.has(node);
        const hasChildren = this.hasChildren(node);
        const mark = makeElement(
            'span',
            { class: 'twist', 'aria-hidden': 'true' },
            hasChildren ? (isOpen ? '▾' : '▸') : '',
        );
        const title = makeElement('td', { class: 'twig' }, mark, names.titleOf(frame));
        title.style.paddingLeft = `${12 + INDENT_PIXELS * Math.min(tree.depth[node], DEEPEST_INDENT)}px`;
        const number = (/** @type {string} */ text, name = 'number') =>
            makeElement('td', { class: name }, text);
        const row = makeElement(
            'tr',
            {
                role: 'row',
                'aria-level': String(tree.depth[node] + 1),
                'data-node': String(node),
                tabindex: node === this.focused ? '0' : '-1',
                class: matches && frame >= 0 && matches.frames[frame] ? 'hit' : '',
            },
            title,
            number(formatBytes(costs.totalBytes[node])),
            number(formatShare(costs.totalBytes[node], costs.totalBytes[0]), 'number muted'),
            number(costs.ownBytes[node] > 0 ? formatBytes(costs.ownBytes[node]) : ''),
            number(formatCount(costs.totalAllocations[node])),
            makeElement('td', { class: 'code muted' }, names.placeOf(frame)),
        );
        if (hasChildren) row.setAttribute('aria-expanded', String(isOpen));
        row.addEventListener('click', () => {
            this.focused = node;
            this.toggle(node, !this.open.has(node));
            this.app.select(node);
        });
        return row;
    }

    /**
     * @param {number} node
     * @param {boolean} isOpen
     */
    toggle(node, isOpen) {
        if (isOpen) this.open.add(node);
        else this.open.delete(node);
    }

    /** Open everything below a node that is not small. @param {number} node */
    openAll(node) {
        const { tree, layout } = this.app;
        for (let at = node; at < tree.end[node]; at++) {
            if (layout.total[at] >= layout.total[node] * 0.01) this.open.add(at);
        }
    }

    focusRow() {
        const row = this.panel.querySelector(`tr[data-node="${this.focused}"]`);
        if (row) /** @type {HTMLElement} */ (row).focus();
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const { tree } = this.app;
        const rows = this.rows();
        const at = rows.indexOf(this.focused);
        const isOpen = this.open.has(this.focused);
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === 'ArrowDown') this.focused = rows[Math.min(rows.length - 1, at + 1)];
        else if (event.key === 'ArrowUp') this.focused = rows[Math.max(0, at - 1)];
        else if (event.key === 'Home') this.focused = rows[0];
        else if (event.key === 'End') this.focused = rows[rows.length - 1];
        else if (event.key === 'ArrowRight' && isOpen)
            this.focused = this.childrenOf(this.focused)[0] ?? this.focused;
        else if (event.key === 'ArrowRight' || event.key === '+') this.toggle(this.focused, true);
        else if (event.key === 'ArrowLeft' && isOpen) this.toggle(this.focused, false);
        else if (event.key === 'ArrowLeft') this.focused = Math.max(0, tree.parent[this.focused]);
        else if (event.key === '-') this.toggle(this.focused, false);
        else if (event.key === '*') this.openAll(this.focused);
        else if (event.key === 'Enter' || event.key === ' ') this.toggle(this.focused, !isOpen);
        else return;
        event.preventDefault();
        event.stopPropagation();
        this.app.select(this.focused);
        this.focusRow();
    }
}
