// What the tests share: the model of a page file, read as the page reads itself.
import { readFileSync } from 'node:fs';
import { addGroups, groupRows } from '../src/groups.js';
import { readModel } from '../src/model.js';
import { Names } from '../src/names.js';
import { arrangeTree, buildForest } from '../src/tree.js';

/** The page and what it must show, as tests/web/make_page wrote them. */
export const pagePath = process.env.MEMTRACK_PAGE;
export const expectedPath = process.env.MEMTRACK_EXPECTED;

/** Why tests that need a page cannot run, or false. */
export const noPage = pagePath && expectedPath ? false : 'MEMTRACK_PAGE names no page';

/** @param {string} path */
export function readPage(path) {
    const html = readFileSync(path, 'utf8');
    return readModel((id) => {
        const found = html.match(new RegExp(`<script[^>]* id="${id}"([^>]*)>([^<]*)</script>`));
        if (!found) throw new Error('no element ' + id);
        return { text: found[2], bytes: Number(/data-bytes="(\d+)"/.exec(found[1])?.[1]) };
    });
}

/** @param {string} path */
export function readExpected(path) {
    return JSON.parse(readFileSync(path, 'utf8'));
}

/**
 * A small model made by hand. Frames: 0 main, 1 load, 2 importer (runtime), 3 parse.
 *     root - main - load - parse
 *                 - importer - load
 */
export function smallModel() {
    const strings = [
        'main',
        'load',
        'importer',
        'parse',
        '/w/app.py',
        '/usr/lib/python3.13/json.py',
        '',
    ];
    const column = (values) => Float64Array.from(values);
    const costs = (values) => [0, 1, 2, 3].map(() => column(values));
    return {
        meta: {
            directory: '/w',
            endNs: 4e9,
            view: 'peak',
            from: 0,
            to: 3,
            inverted: false,
            showsRuntime: false,
            peakSample: 1,
            temporaryThreshold: 1,
            totals: { peakTime: 1e9, peakRss: 0 },
            allocators: [
                { number: 1, name: 'malloc', peakBytes: 140 },
                { number: 33, name: 'pymalloc', peakBytes: 7 },
            ],
            threads: [
                { tid: 42, process: 0, name: '', main: true, peakBytes: 110 },
                { tid: 43, process: 1, name: 'other', main: false, peakBytes: 37 },
            ],
            processes: [
                { pid: 42, name: 'app', peakBytes: 110 },
                { pid: 44, name: 'child', peakBytes: 37 },
            ],
            counts: { strings: strings.length },
        },
        string: (number) => strings[number],
        frames: {
            count: 4,
            function: Uint32Array.from([0, 1, 2, 3]),
            file: Uint32Array.from([4, 4, 6, 5]),
            line: Uint32Array.from([1, 5, 0, 9]),
            kind: Uint8Array.from([0, 0, 0, 0]),
            isRuntime: Uint8Array.from([0, 0, 1, 0]),
            module: new Uint32Array(4),
            source: new Uint32Array(4),
        },
        nodes: {
            count: 6,
            parent: Int32Array.from([-1, 0, 1, 2, 1, 4]),
            depth: Uint32Array.from([0, 1, 2, 3, 2, 3]),
            frame: Int32Array.from([-1, 0, 1, 3, 2, 1]),
        },
        rows: {
            count: 4,
            node: Uint32Array.from([1, 3, 4, 5]),
            thread: Uint32Array.from([1, 1, 2, 2]),
            allocator: Uint8Array.from([1, 1, 33, 1]),
            bytes: costs([10, 100, 7, 30]),
            allocations: costs([1, 2, 1, 3]),
        },
        intervals: {
            count: 4,
            row: Uint32Array.from([0, 1, 2, 3]),
            from: Uint16Array.from([0, 1, 1, 0]),
            to: Uint16Array.from([5, 2, 5, 2]),
            bytes: column([10, 100, 7, 30]),
            allocations: column([1, 2, 1, 3]),
        },
        samples: {
            count: 4,
            time: column([0, 1e9, 2e9, 3e9]),
            heap: column([40, 147, 17, 17]),
            blocks: column([4, 7, 2, 2]),
            rss: column([0, 0, 0, 0]),
            allocations: column([4, 7, 7, 7]),
        },
        sources: new Map(),
    };
}

/** A tree of a shape, as the app makes it. by: what a level of groups is of. */
export function buildTree(model, shape, by = '') {
    const names = new Names(model);
    const groups = addGroups(model, names);
    const forest = buildForest(model, shape, names, groups.modules);
    return arrangeTree(model, forest, { ...shape, groups: groupRows(model, names, groups, by) });
}
