// @ts-check
// Source files with the memory of each line beside it: as many lines as the page carries.
import { makeElement } from './dom.js';
import { formatBytes, formatCount } from './format.js';
import { sumGroups } from './table.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {import('./table.js').TableRow} TableRow */

const FIRST_FILES = 200;
const MOST_LINES = 5000;

/**
 * @typedef {object} FileCosts
 * @property {number} file number of its name
 * @property {number} frame one of the file's
 * @property {number} own bytes of all lines
 * @property {Map<number, TableRow>} lines
 */

/**
 * @param {Names} names
 * @returns {Uint32Array} by frame: the first frame of its file and line
 */
function groupLines(names) {
    const { frames } = names.model;
    const groups = new Uint32Array(frames.count);
    /** @type {Map<string, number>} */
    const known = new Map();
    for (let frame = 0; frame < frames.count; frame++) {
        const key = `${frames.file[frame]} ${frames.line[frame]}`;
        const first = known.get(key);
        if (first === undefined) known.set(key, frame);
        groups[frame] = first ?? frame;
    }
    return groups;
}

/**
 * @param {Names} names
 * @param {TableRow[]} rows of lines
 * @returns {FileCosts[]} those with the most own bytes first
 */
export function collectFiles(names, rows) {
    const { frames } = names.model;
    /** @type {Map<number, FileCosts>} */
    const files = new Map();
    for (const row of rows) {
        const file = frames.file[row.frame];
        const line = frames.line[row.frame];
        if (line === 0 || names.fileOf(row.frame) === '') continue;
        const costs = files.get(file) ?? { file, frame: row.frame, own: 0, lines: new Map() };
        costs.own += row.own;
        costs.lines.set(line, row);
        files.set(file, costs);
    }
    return [...files.values()].sort((a, b) => b.own - a.own || a.file - b.file);
}

export class SourcePanel {
    /** @type {number} number of its name, -1: that with the most */
    file = -1;
    /** Of which file the lines are shown. */
    shown = -1;
    limit = FIRST_FILES;

    /**
     * @param {HTMLElement} panel
     * @param {App} app
     */
    constructor(panel, app) {
        this.app = app;
        this.list = makeElement('ol', { class: 'functions', 'aria-label': 'Files' });
        this.code = makeElement('div', { class: 'source-code' });
        panel.replaceChildren(this.list, this.code);
    }

    draw() {
        const { app } = this;
        const tree = app.plainTree();
        const rows = sumGroups(tree, groupLines(app.names), app.costsOf(tree));
        const files = collectFiles(app.names, rows);
        const chosen = files.find(({ file }) => file === this.file) ?? files[0];
        this.fillList(files, chosen);
        if (chosen) this.fillCode(chosen);
        else {
            this.code.replaceChildren(
                makeElement('p', { class: 'empty' }, 'No line of any file is known in this view.'),
            );
        }
    }

    /** Show a frame's file. @param {number} frame */
    choose(frame) {
        this.file = this.app.model.frames.file[frame];
    }

    /**
     * @param {FileCosts[]} files
     * @param {FileCosts | undefined} chosen
     */
    fillList(files, chosen) {
        const { app } = this;
        this.list.replaceChildren(
            ...files.slice(0, this.limit).map((costs) => {
                const button = makeElement(
                    'button',
                    { class: 'plain', title: app.names.fileOf(costs.frame) },
                    makeElement('span', {}, app.names.pathOf(costs.frame)),
                    makeElement('span', { class: 'number' }, formatBytes(costs.own)),
                );
                if (costs === chosen) button.setAttribute('aria-current', 'true');
                button.addEventListener('click', () => {
                    this.file = costs.file;
                    this.draw();
                });
                return makeElement('li', {}, button);
            }),
        );
    }

    /**
     * @param {FileCosts} costs
     * @returns {{line: number, text: string}[]} lines with memory or text, in order
     */
    linesOf(costs) {
        const { model, names } = this.app;
        /** @type {Map<number, string>} */
        const texts = new Map();
        for (const [line, row] of costs.lines) texts.set(line, names.sourceOf(row.frame));
        const source = model.sources.get(costs.file);
        source?.lines.forEach((line, i) => texts.set(line, model.string(source.texts[i])));
        return [...texts]
            .map(([line, text]) => ({ line, text }))
            .sort((a, b) => a.line - b.line)
            .slice(0, MOST_LINES);
    }

    /** @param {FileCosts} costs */
    fillCode(costs) {
        const { app } = this;
        const lines = this.linesOf(costs);
        const most = Math.max(1, ...[...costs.lines.values()].map((row) => row.own));
        const body = makeElement('tbody');
        let before = 0;
        for (const { line, text } of lines) {
            if (before > 0 && line > before + 1) {
                body.append(
                    makeElement(
                        'tr',
                        { class: 'gap', 'aria-hidden': 'true' },
                        makeElement('td', { colspan: '5' }, '⋮'),
                    ),
                );
            }
            before = line;
            body.append(this.makeLine(line, text, costs.lines.get(line), most));
        }
        const hasText = lines.some(({ text }) => text !== '');
        const head = makeElement('tr');
        for (const [title, name] of [
            ['Own', 'number'],
            ['Total', 'number'],
            ['Blocks', 'number'],
            ['Line', 'number'],
            ['Source', ''],
        ]) {
            head.append(makeElement('th', { scope: 'col', class: name }, title));
        }
        this.code.replaceChildren(
            makeElement(
                'h2',
                { class: 'code', title: app.names.fileOf(costs.frame) },
                app.names.pathOf(costs.frame),
            ),
            ...(hasText
                ? []
                : [
                      makeElement(
                          'p',
                          { class: 'muted' },
                          'Its text is not in this page: the file was not there, or changed since, or --source=none was given.',
                      ),
                  ]),
            makeElement(
                'table',
                {},
                makeElement('caption', { class: 'hidden-text' }, 'Lines and their memory'),
                makeElement('thead', {}, head),
                body,
            ),
        );
        if (this.shown === costs.file) return;
        this.shown = costs.file;
        this.showHottest();
    }

    /** Scroll to the line that allocated the most. */
    showHottest() {
        /** @type {HTMLElement | null} */
        let hottest = null;
        let most = 0;
        for (const row of /** @type {NodeListOf<HTMLElement>} */ (
            this.code.querySelectorAll('tr.hot')
        )) {
            const heat = Number(row.style.getPropertyValue('--heat'));
            if (heat > most) [hottest, most] = [row, heat];
        }
        this.code.scrollTop = hottest
            ? hottest.offsetTop - this.code.clientHeight / 2 + hottest.offsetHeight
            : 0;
    }

    /**
     * @param {number} line
     * @param {string} text
     * @param {TableRow | undefined} row
     * @param {number} most own bytes of any line
     */
    makeLine(line, text, row, most) {
        const { app } = this;
        const cell = (/** @type {string} */ content, name = 'number') =>
            makeElement('td', { class: name }, content);
        const number = cell(String(line), 'number muted');
        const made = makeElement(
            'tr',
            {},
            cell(row && row.own > 0 ? formatBytes(row.own) : ''),
            cell(row ? formatBytes(row.total) : '', 'number muted'),
            cell(row && row.allocations > 0 ? formatCount(row.allocations) : '', 'number muted'),
            number,
            makeElement('td', { class: 'text' }, text),
        );
        if (row && row.own > 0) {
            const heat = Math.sqrt(row.own / most);
            made.style.setProperty('--heat', heat.toFixed(3));
            made.className = 'hot';
        }
        if (row) {
            const link = makeElement(
                'button',
                { class: 'link', title: 'Callers and callees' },
                String(line),
            );
            link.addEventListener('click', () => app.showFunction(row.frame));
            number.replaceChildren(link);
        }
        return made;
    }
}
