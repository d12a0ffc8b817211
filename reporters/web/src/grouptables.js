// @ts-check
// Who holds the memory that is shown: by thread, process, allocator and module, and what phases there
// were. Each row is a button that shows it alone, and everything again.
import { sumRows } from './aggregate.js';
import { makeElement } from './dom.js';
import { formatBytes, formatCount, formatShare, formatTime } from './format.js';
import { groupRows } from './groups.js';

/** @typedef {import('./app.js').App} App */

const FIRST_GROUPS = 50;

/**
 * @typedef {object} GroupRow
 * @property {string} title
 * @property {number} bytes
 * @property {number} count
 * @property {string} more
 * @property {boolean} isChosen
 * @property {() => void} choose
 */

export class GroupTables {
    /** @type {Map<string, number>} how many rows of a table are shown, where more are asked for */
    limits = new Map();

    /**
     * @param {HTMLElement} panel
     * @param {App} app
     */
    constructor(panel, app) {
        this.panel = panel;
        this.app = app;
    }

    draw() {
        const { app } = this;
        const { model, state } = app;
        // Of all rows, filtered or not: a filter would leave one row of a table.
        this.rows = sumRows(model, state);
        const sections = [
            this.makeTable('Threads', 'Thread', 'Own peak', this.threads()),
            this.makeTable('Processes', 'Process', 'Own peak', this.processes()),
            this.makeTable('Allocators', 'Allocator', 'Own peak', this.allocators()),
            this.makeTable('Modules', 'Module', '', this.modules()),
            this.makePhases(),
        ];
        this.panel.replaceChildren(makeElement('div', { class: 'groups' }, ...sections));
    }

    /**
     * @param {import('./groups.js').GroupBy} by
     * @returns {Map<number, {bytes: number, count: number}>} by frame of the group
     */
    sums(by) {
        const { model, names, groups } = this.app;
        const group = /** @type {Int32Array} */ (groupRows(model, names, groups, by));
        const { bytes, allocations } = /** @type {import('./aggregate.js').RowCosts} */ (this.rows);
        /** @type {Map<number, {bytes: number, count: number}>} */
        const sums = new Map();
        for (let row = 0; row < group.length; row++) {
            if (allocations[row] === 0) continue;
            const sum = sums.get(group[row]) ?? { bytes: 0, count: 0 };
            sum.bytes += bytes[row];
            sum.count += allocations[row];
            sums.set(group[row], sum);
        }
        return sums;
    }

    /**
     * @param {import('./groups.js').GroupBy} by
     * @param {(frame: number) => {more: string, isChosen: boolean, choose: () => void}} describe
     * @returns {GroupRow[]} those with the most first
     */
    collect(by, describe) {
        const { names } = this.app;
        return [...this.sums(by)]
            .map(([frame, sum]) => ({ title: names.functionOf(frame), ...sum, ...describe(frame) }))
            .sort((a, b) => b.bytes - a.bytes || b.count - a.count);
    }

    /**
     * @param {'thread' | 'process' | 'allocator'} key
     * @param {number} value
     */
    chooser(key, value) {
        const { app } = this;
        const isChosen = app.state[key] === value;
        return { isChosen, choose: () => app.change({ [key]: isChosen ? -1 : value }) };
    }

    threads() {
        const { model, groups } = this.app;
        return this.collect('thread', (frame) => {
            const number = frame - groups.threads;
            const thread = model.meta.threads[number - 1];
            return {
                more: thread ? formatBytes(thread.peakBytes) : '',
                ...this.chooser('thread', number),
            };
        });
    }

    processes() {
        const { model, groups } = this.app;
        if (model.meta.processes.length < 2) return [];
        return this.collect('process', (frame) => {
            const number = frame - groups.processes;
            const process = model.meta.processes[number];
            return {
                more: process ? formatBytes(process.peakBytes) : '',
                ...this.chooser('process', number),
            };
        });
    }

    allocators() {
        const { model, groups } = this.app;
        const numbers = new Map([...groups.allocators].map(([number, frame]) => [frame, number]));
        const peaks = new Map(
            model.meta.allocators.map((/** @type {any} */ one) => [one.number, one.peakBytes]),
        );
        return this.collect('allocator', (frame) => {
            const number = numbers.get(frame) ?? -1;
            return {
                more: formatBytes(peaks.get(number) ?? 0),
                ...this.chooser('allocator', number),
            };
        });
    }

    modules() {
        const { app } = this;
        return this.collect('module', (frame) => {
            // What has no module cannot be kept alone.
            const isKnown = frame !== app.groups.noModule;
            const target = 'm' + (isKnown ? app.names.functionOf(frame) : '');
            const { steps } = app.state;
            const isChosen = steps.some((step) => step.kind === 'keep' && step.target === target);
            return {
                more: '',
                isChosen,
                choose: () =>
                    isKnown &&
                    app.change({
                        steps: isChosen
                            ? steps.filter((step) => step.target !== target)
                            : [...steps, { kind: 'keep', target }],
                    }),
            };
        });
    }

    /**
     * @param {string} title
     * @param {string} name
     * @param {string} moreName
     * @param {GroupRow[]} rows
     */
    makeTable(title, name, moreName, rows) {
        if (rows.length === 0) return '';
        const limit = this.limits.get(title) ?? FIRST_GROUPS;
        const most = rows[0].bytes || 1;
        const all = rows.reduce((sum, row) => sum + row.bytes, 0);
        const heads = [name, 'Bytes', '%', '', 'Blocks', ...(moreName ? [moreName] : [])];
        const body = makeElement('tbody');
        for (const row of rows.slice(0, limit)) {
            const button = makeElement(
                'button',
                { class: 'link', 'aria-pressed': String(row.isChosen), title: row.title },
                row.title,
            );
            button.addEventListener('click', row.choose);
            const bar = makeElement('span');
            bar.style.width = `${(100 * row.bytes) / most}%`;
            const number = (/** @type {string} */ text, more = '') =>
                makeElement('td', { class: `number ${more}` }, text);
            body.append(
                makeElement(
                    'tr',
                    { class: row.isChosen ? 'chosen' : '' },
                    makeElement('td', {}, button),
                    number(formatBytes(row.bytes)),
                    number(formatShare(row.bytes, all), 'muted'),
                    makeElement('td', { class: 'bar', 'aria-hidden': 'true' }, bar),
                    number(formatCount(row.count)),
                    ...(moreName ? [number(row.more, 'muted')] : []),
                ),
            );
        }
        const section = makeElement(
            'section',
            {},
            makeElement('h2', {}, title),
            tableOf(`Memory by ${name.toLowerCase()}`, heads, body),
        );
        if (rows.length > limit) section.append(this.makeMore(title, rows.length, limit));
        return section;
    }

    /**
     * @param {string} title
     * @param {number} count
     * @param {number} limit
     */
    makeMore(title, count, limit) {
        const button = makeElement('button', { class: 'more' }, `Show all ${formatCount(count)}`);
        button.addEventListener('click', () => {
            this.limits.set(title, limit * 20);
            this.draw();
        });
        return button;
    }

    /** Phases of the program; a click selects the phase's time. */
    makePhases() {
        const { app } = this;
        const { phases = [] } = app.model.meta;
        if (phases.length === 0) return '';
        const body = makeElement('tbody');
        for (const [from, to, name, peak] of phases) {
            const button = makeElement('button', { class: 'link' }, name);
            button.addEventListener('click', () => app.timeline.chooseTime(from, to));
            const number = (/** @type {string} */ text) =>
                makeElement('td', { class: 'number' }, text);
            body.append(
                makeElement(
                    'tr',
                    {},
                    makeElement('td', {}, button),
                    number(formatBytes(peak)),
                    number(formatTime(from)),
                    number(formatTime(to - from)),
                ),
            );
        }
        return makeElement(
            'section',
            {},
            makeElement('h2', {}, 'Phases'),
            tableOf('Phases of the program', ['Phase', 'Peak', 'Begins at', 'Takes'], body),
        );
    }
}

/**
 * @param {string} caption
 * @param {string[]} heads the first is of texts, the others of numbers, those without a name of bars
 * @param {HTMLElement} body
 */
function tableOf(caption, heads, body) {
    const row = makeElement('tr');
    heads.forEach((text, i) =>
        row.append(
            text === ''
                ? makeElement('td', { 'aria-hidden': 'true' })
                : makeElement('th', { scope: 'col', class: i === 0 ? '' : 'number' }, text),
        ),
    );
    return makeElement(
        'table',
        {},
        makeElement('caption', { class: 'hidden-text' }, caption),
        makeElement('thead', {}, row),
        body,
    );
}
