// @ts-check
// Boxes that no function stands for: threads, processes, allocators and modules. Each becomes a frame
// behind those that were recorded, so that trees can hold it as they hold any other.
import { threadName } from './info.js';
import { KIND_GROUP } from './names.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {'' | 'thread' | 'process' | 'allocator' | 'module'} GroupBy */

/** @type {{by: GroupBy, title: string}[]} */
export const GROUPINGS = [
    { by: '', title: 'nothing' },
    { by: 'thread', title: 'thread' },
    { by: 'process', title: 'process' },
    { by: 'allocator', title: 'allocator' },
    { by: 'module', title: 'module' },
];

/**
 * @typedef {object} Groups numbers of frames
 * @property {number} threads of the first; number 0 is what no thread is known of
 * @property {number} processes of the first
 * @property {Map<number, number>} allocators by number
 * @property {Map<string, number>} modules by name
 * @property {number} noModule
 */

/**
 * @template {Uint32Array | Uint8Array} T
 * @param {T} column
 * @param {number} count
 * @returns {T} as long as is asked for
 */
function lengthen(column, count) {
    const longer = new /** @type {any} */ (column.constructor)(count);
    longer.set(column);
    return longer;
}

/** @param {any} process @returns {string} such as "cc1 (4242)" */
export function processName(process) {
    return `${process.name || 'process'} (${process.pid})`;
}

/**
 * Add a frame for each group.
 * @param {Model} model its frames become more
 * @param {Names} names
 * @returns {Groups}
 */
export function addGroups(model, names) {
    const { meta, frames, string } = model;
    /** @type {string[]} */
    const titles = [];
    const first = frames.count;
    const firstText = meta.counts.strings;
    const add = (/** @type {string} */ title) => first + titles.push(title) - 1;
    const groups = {
        threads: add('no thread'),
        processes: first + 1 + meta.threads.length,
        allocators: new Map(),
        modules: new Map(),
        noModule: 0,
    };
    for (const thread of meta.threads) add(threadName(meta, thread));
    for (const process of meta.processes) add(processName(process));
    for (const { number, name } of meta.allocators) groups.allocators.set(number, add(name));
    for (let frame = 0; frame < names.recorded; frame++) {
        const module = names.moduleOf(frame);
        if (module && !groups.modules.has(module)) groups.modules.set(module, add(module));
    }
    groups.noModule = add('no module');
    const empty = add('');
    const count = first + titles.length;
    const texts = Uint32Array.from(titles, (_, i) => firstText + i);
    Object.assign(frames, {
        count,
        function: lengthen(frames.function, count),
        file: lengthen(frames.file, count).fill(firstText + empty - first, first),
        line: lengthen(frames.line, count),
        kind: lengthen(frames.kind, count).fill(KIND_GROUP, first),
        isRuntime: lengthen(frames.isRuntime, count),
        module: lengthen(frames.module, count),
        source: lengthen(frames.source, count),
    });
    frames.function.set(texts, first);
    model.string = (number) => (number < firstText ? string(number) : titles[number - firstText]);
    return groups;
}

/**
 * @param {Model} model
 * @param {Names} names
 * @param {Groups} groups
 * @param {GroupBy} by
 * @returns {Int32Array | null} by row: the frame of its group
 */
export function groupRows(model, names, groups, by) {
    const { rows, meta, nodes } = model;
    if (by === '') return null;
    const other = groups.threads;
    const group = (/** @type {number} */ row) => {
        if (by === 'allocator') return groups.allocators.get(rows.allocator[row]) ?? other;
        if (by === 'module') {
            // The innermost frame that is of any module.
            for (let node = rows.node[row]; node > 0; node = nodes.parent[node]) {
                const module = names.moduleOf(nodes.frame[node]);
                if (module) return groups.modules.get(module) ?? groups.noModule;
            }
            return groups.noModule;
        }
        const thread = meta.threads[rows.thread[row] - 1];
        if (!thread) return other;
        return by === 'thread'
            ? groups.threads + rows.thread[row]
            : groups.processes + thread.process;
    };
    return Int32Array.from({ length: rows.count }, (_, row) => group(row));
}
