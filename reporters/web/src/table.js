// @ts-check
// The table: one row a function or a line of it, sortable; the same numbers as the flame graph.
import { makeElement } from './dom.js';
import { formatBytes, formatCount, formatShare } from './format.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./names.js').Names} Names */

/**
 * @typedef {object} TableRow
 * @property {number} frame one of the group
 * @property {number} total bytes with everything called
 * @property {number} own bytes
 * @property {number} allocations own
 *
 * @typedef {object} TableCosts by node
 * @property {Float64Array} ownBytes
 * @property {Float64Array} totalBytes
 * @property {Float64Array} ownAllocations
 *
 * @typedef {'total' | 'own' | 'allocations' | 'function' | 'place'} SortKey
 */

const FIRST_ROWS = 200;

/**
 * @param {Names} names
 * @param {boolean} byLine one group a line, not a function
 * @returns {Uint32Array} by frame: the first frame of its group
 */
export function groupFrames(names, byLine) {
    const { frames } = names.model;
    const groups = new Uint32Array(frames.count);
    /** @type {Map<string, number>} */
    const known = new Map();
    for (let frame = 0; frame < frames.count; frame++) {
        const line = byLine ? frames.line[frame] : '';
        const key = `${frames.function[frame]} ${frames.file[frame]} ${line} ${frames.module[frame]}`;
        const first = known.get(key);
        if (first === undefined) known.set(key, frame);
        groups[frame] = first ?? frame;
    }
    return groups;
}

/**
 * Sum nodes by group. What recurses is counted once.
 * @param {Tree} tree the recorded one or without runtime frames, not inverted
 * @param {Uint32Array} groups
 * @param {TableCosts} costs
 * @returns {TableRow[]} groups that hold anything
 */
export function sumGroups(tree, groups, costs) {
    const total = new Float64Array(groups.length);
    const own = new Float64Array(groups.length);
    const allocations = new Float64Array(groups.length);
    const open = new Uint32Array(groups.length);
    /** @type {number[]} nodes above */
    const above = [];
    for (let node = 1; node < tree.count; node++) {
        while (above.length > 0 && tree.end[above[above.length - 1]] <= node) {
            open[groups[tree.frame[/** @type {number} */ (above.pop())]]]--;
        }
        const group = groups[tree.frame[node]];
        if (open[group] === 0) total[group] += costs.totalBytes[node];
        own[group] += costs.ownBytes[node];
        allocations[group] += costs.ownAllocations[node];
        open[group]++;
        above.push(node);
    }
    const rows = [];
    for (let frame = 0; frame < groups.length; frame++) {
        if (total[frame] > 0 || allocations[frame] > 0) {
            rows.push({
                frame,
                total: total[frame],
                own: own[frame],
                allocations: allocations[frame],
            });
        }
    }
    return rows;
}

/**
 * @param {TableRow[]} rows
 * @param {SortKey} key
 * @param {boolean} isRising
 * @param {Names} names
 */
export function sortRows(rows, key, isRising, names) {
    /** @type {(row: TableRow) => string} */
    const text = (row) =>
        key === 'place' ? names.placeOf(row.frame) : names.functionOf(row.frame);
    const sign = isRising ? 1 : -1;
    return rows.sort((a, b) => {
        if (key === 'function' || key === 'place') {
            const left = text(a);
            const right = text(b);
            return left < right ? -sign : left > right ? sign : a.frame - b.frame;
        }
        return sign * (a[key] - b[key]) || b.total - a.total || a.frame - b.frame;
    });
}

/** @type {{key: SortKey, title: string, isNumber: boolean}[]} */
const COLUMNS = [
    { key: 'total', title: 'Total', isNumber: true },
    { key: 'own', title: 'Own', isNumber: true },
    { key: 'allocations', title: 'Blocks', isNumber: true },
    { key: 'function', title: 'Function', isNumber: false },
    { key: 'place', title: 'Location', isNumber: false },
];

export class Table {
    mostOwn = 0;

    /**
     * @param {HTMLElement} panel
     * @param {import('./app.js').App} app
     */
    constructor(panel, app) {
        this.panel = panel;
        this.app = app;
        this.names = app.names;
        /** @type {SortKey} */
        this.key = 'own';
        this.isRising = false;
        this.byLine = false;
        this.limit = FIRST_ROWS;
    }

    /** @returns {TableRow[]} what is shown, sorted */
    rows() {
        const { app } = this;
        const tree = app.plainTree();
        const groups = groupFrames(this.names, this.byLine);
        const rows = sumGroups(tree, groups, app.costsOf(tree));
        const { matches } = app;
        const shown = matches ? rows.filter((row) => matches.frames[row.frame]) : rows;
        return sortRows(shown, this.key, this.isRising, this.names);
    }

    draw() {
        const rows = this.rows();
        const { costs } = this.app;
        const all = costs.totalBytes[0];
        this.mostOwn = rows.reduce((most, row) => Math.max(most, row.own), 0);
        const body = makeElement('tbody');
        for (const row of rows.slice(0, this.limit)) body.append(this.makeRow(row, all));
        const table = makeElement(
            'table',
            {},
            makeElement('caption', { class: 'hidden-text' }, 'Allocations by function'),
            this.makeHead(),
            body,
        );
        this.panel.replaceChildren(this.makeChoice(rows.length), table);
        if (rows.length > this.limit) this.panel.append(this.makeMore(rows.length));
    }

    /** @param {number} count */
    makeChoice(count) {
        const line = makeElement('div', { class: 'line table-line' });
        const group = makeElement('div', {
            class: 'segments',
            role: 'group',
            'aria-label': 'Rows',
        });
        for (const byLine of [false, true]) {
            const button = makeElement(
                'button',
                { 'aria-pressed': String(this.byLine === byLine) },
                byLine ? 'By line' : 'By function',
            );
            button.addEventListener('click', () => {
                this.byLine = byLine;
                this.draw();
            });
            group.append(button);
        }
        line.append(group, makeElement('span', { class: 'muted' }, `${formatCount(count)} rows`));
        return line;
    }

    makeHead() {
        const row = makeElement('tr');
        for (const { key, title, isNumber } of COLUMNS) {
            const isSorted = this.key === key;
            const sort = isSorted ? (this.isRising ? 'ascending' : 'descending') : 'none';
            const button = makeElement('button', { class: 'plain' }, title);
            if (isSorted) button.append(this.isRising ? ' ↑' : ' ↓');
            button.addEventListener('click', () => {
                this.isRising = isSorted ? !this.isRising : !isNumber;
                this.key = key;
                this.draw();
                const again = this.panel.querySelector(`th[data-key=${key}] button`);
                /** @type {HTMLElement} */ (again).focus();
            });
            const attributes = { scope: 'col', 'aria-sort': sort, 'data-key': key };
            row.append(
                makeElement(
                    'th',
                    isNumber ? { ...attributes, class: 'number' } : attributes,
                    button,
                ),
            );
            if (isNumber && key !== 'allocations') {
                row.append(makeElement('th', { scope: 'col', class: 'number' }, '%'));
            }
            if (key === 'own') row.append(makeElement('td', { 'aria-hidden': 'true' }));
        }
        return makeElement('thead', {}, row);
    }

    /**
     * @param {TableRow} row
     * @param {number} all
     */
    makeRow(row, all) {
        const number = (/** @type {string} */ text, name = 'number') =>
            makeElement('td', { class: name }, text);
        const link = makeElement('button', { class: 'link' }, this.names.functionOf(row.frame));
        link.addEventListener('click', () => this.app.showFunction(row.frame));
        const bar = makeElement('span');
        bar.style.width = `${(100 * row.own) / (this.mostOwn || 1)}%`;
        return makeElement(
            'tr',
            {},
            number(formatBytes(row.total)),
            number(formatShare(row.total, all), 'number muted'),
            number(formatBytes(row.own)),
            number(formatShare(row.own, all), 'number muted'),
            makeElement('td', { class: 'bar', 'aria-hidden': 'true' }, bar),
            number(formatCount(row.allocations)),
            makeElement('td', {}, link),
            makeElement(
                'td',
                { class: 'code muted', title: this.names.fileOf(row.frame) },
                this.byLine ? this.names.placeOf(row.frame) : this.names.pathOf(row.frame),
            ),
        );
    }

    /** @param {number} count */
    makeMore(count) {
        const more = Math.min(count - this.limit, 1000);
        const button = makeElement('button', { class: 'more' }, `Show ${formatCount(more)} more`);
        button.addEventListener('click', () => {
            this.limit += more;
            this.draw();
        });
        return button;
    }
}
