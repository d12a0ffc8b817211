// @ts-check
// The head of the page: what ran, and which threads, processes, allocators and phases are shown.
import { byId, makeElement } from './dom.js';
import { formatBytes, formatCount, formatTime } from './format.js';
import { processName } from './groups.js';
import { threadName } from './info.js';

/** @typedef {import('./app.js').App} App */

/** More threads than that are chosen in the tables of groups. */
const MOST_OPTIONS = 500;

/** @param {App} app */
export function fillHeader(app) {
    const { meta } = app.model;
    byId('program').textContent = meta.program;
    const facts = [
        meta.pid ? `pid ${meta.pid}` : '',
        meta.python ? `Python ${meta.python}` : '',
        formatTime(meta.endNs),
        `${formatCount(meta.totals.allocations)} allocations`,
        `peak ${formatBytes(meta.totals.peakBytes)}`,
        meta.totals.peakRss ? `RSS ${formatBytes(meta.totals.peakRss)}` : '',
    ];
    byId('facts').textContent = facts.filter(Boolean).join('  ·  ');
    const warnings = byId('warnings');
    const count = meta.warnings.length;
    warnings.hidden = count === 0;
    warnings.textContent = `${count} warning${count === 1 ? '' : 's'}`;
    warnings.title = meta.warnings.join('\n');
    warnings.addEventListener('click', () => app.openTab('info'));
}

/**
 * @param {string} id
 * @param {string} all
 * @param {{value: number, title: string}[]} options
 * @param {(value: number) => void} choose
 */
function fillSelect(id, all, options, choose) {
    const select = byId(id);
    select.append(makeElement('option', { value: '-1' }, all));
    for (const { value, title } of options.slice(0, MOST_OPTIONS)) {
        select.append(makeElement('option', { value: String(value) }, title));
    }
    select.hidden = options.length < 2;
    select.addEventListener('change', () => choose(Number(select.value)));
}

/** @param {App} app */
export function connectFilters(app) {
    const { meta } = app.model;
    const numbered = (
        /** @type {any[]} */ items,
        /** @type {(item: any) => string} */ title,
        first = 0,
    ) => items.map((item, i) => ({ value: i + first, title: title(item) }));
    fillSelect(
        'thread',
        'All threads',
        numbered(meta.threads, (thread) => threadName(meta, thread), 1),
        (thread) => app.change({ thread }),
    );
    fillSelect('process', 'All processes', numbered(meta.processes, processName), (process) =>
        app.change({ process }),
    );
    fillSelect(
        'allocator',
        'All allocators',
        meta.allocators.map((/** @type {any} */ one) => ({ value: one.number, title: one.name })),
        (allocator) => app.change({ allocator }),
    );
    const phases = meta.phases ?? [];
    fillSelect(
        'phase',
        'Whole run',
        numbered(phases, ([, , name]) => name),
        (number) => {
            if (number < 0) app.timeline.choose(0, app.timeline.last(), true);
            else app.timeline.chooseTime(phases[number][0], phases[number][1]);
        },
    );
    byId('phase').hidden = phases.length === 0;
}

/** Show the filters of the state. @param {App} app */
export function reflectFilters({ state, timeline, model }) {
    const show = (/** @type {string} */ id, /** @type {number} */ value) => {
        byId(id).value = String(value);
        byId(id).classList.toggle('chosen', value >= 0);
        // One of very many, that has no option: it is in the tables of groups.
        if (byId(id).selectedIndex < 0) byId(id).value = '-1';
    };
    show('thread', state.thread);
    show('process', state.process);
    show('allocator', state.allocator);
    const at = (model.meta.phases ?? []).findIndex((/** @type {number[]} */ [from, to]) => {
        const range = timeline.samplesOf(from, to);
        return range.from === state.from && range.to === state.to && !timeline.isWhole();
    });
    show('phase', at);
}
