// @ts-check
// The info panel: what ran, totals, warnings, who allocated, what the profiler did cost.
import { makeElement } from './dom.js';
import { formatBytes, formatCount, formatShare, formatTime, trimZeros } from './format.js';

import { limitFacts } from './limits.js';

/** @typedef {[string, string]} Fact */

/**
 * @param {string} title
 * @param {...(HTMLElement | null)} content
 */
function section(title, ...content) {
    const made = makeElement('section', {}, makeElement('h2', {}, title));
    for (const part of content) if (part) made.append(part);
    return made;
}

/** @param {Fact[]} facts */
function factList(facts) {
    const list = makeElement('dl', { class: 'facts' });
    for (const [name, value] of facts) {
        if (value !== '') list.append(makeElement('dt', {}, name), makeElement('dd', {}, value));
    }
    return list;
}

/**
 * @param {string} caption
 * @param {string[]} heads the first is of texts, the others of numbers
 * @param {string[][]} rows
 */
function factTable(caption, heads, rows) {
    const kind = (/** @type {number} */ i) => (i === 0 ? '' : 'number');
    const head = makeElement('tr');
    heads.forEach((text, i) =>
        head.append(makeElement('th', { scope: 'col', class: kind(i) }, text)),
    );
    const body = makeElement('tbody');
    for (const row of rows) {
        const line = makeElement('tr');
        row.forEach((text, i) => line.append(makeElement('td', { class: kind(i) }, text)));
        body.append(line);
    }
    return makeElement(
        'table',
        {},
        makeElement('caption', { class: 'hidden-text' }, caption),
        makeElement('thead', {}, head),
        body,
    );
}

/** @param {any} meta */
function programFacts(meta) {
    const kind = meta.freeThreaded ? ', free-threaded' : '';
    return factList([
        ['Command', meta.command],
        ['Directory', meta.directory],
        ['Process', meta.pid ? String(meta.pid) : ''],
        ['Python', meta.python ? meta.python + kind : ''],
        ['Host', [meta.host, meta.machine].filter(Boolean).join(', ')],
        [
            'Started',
            meta.startedMs
                ? new Date(meta.startedMs).toISOString().replace(/\..*/, ' UTC').replace('T', ' ')
                : '',
        ],
        ['Recorded', formatTime(meta.endNs)],
        [
            'Capture',
            `${meta.state}, ${formatBytes(meta.overhead.captureBytes)}${meta.aggregated ? ', aggregated' : ''}`,
        ],
        [
            'Sampled',
            meta.sampleBytes
                ? `${meta.sampledFromNs ? `from ${formatTime(meta.sampledFromNs)} on, at last ` : ''}one block in ${formatBytes(meta.sampleBytes)}, larger ones all: numbers are estimates`
                : '',
        ],
        ['Left out', meta.minSize ? `blocks smaller than ${formatBytes(meta.minSize)}` : ''],
        ['memtrack', meta.version || meta.reporter],
    ]);
}

/**
 * @param {any} totals
 * @param {boolean} isSample does not tell what was temporary
 */
function totalFacts(totals, isSample) {
    /** @type {Fact[]} */
    const rare = [
        ['Reserved at most', totals.reservedPeakBytes && formatBytes(totals.reservedPeakBytes)],
        [
            'Mapped files at most',
            totals.mappedFilePeakBytes && formatBytes(totals.mappedFilePeakBytes),
        ],
        ['Failed allocations', totals.failedAllocations && formatCount(totals.failedAllocations)],
        ['Releases of unknown blocks', totals.unknownFrees && formatCount(totals.unknownFrees)],
        ['Order violations', totals.orderViolations && formatCount(totals.orderViolations)],
        ['Lost events', totals.lostEvents && formatCount(totals.lostEvents)],
    ];
    const blocks = (/** @type {number} */ count) => `${formatCount(count)} blocks`;
    return factList([
        [
            'Peak of the heap',
            `${formatBytes(totals.peakBytes)} in ${blocks(totals.peakAllocations)} at ${formatTime(totals.peakTime)}`,
        ],
        [
            'Leaked at end',
            `${formatBytes(totals.leakedBytes)} in ${blocks(totals.leakedAllocations)}`,
        ],
        ['Peak of RSS', totals.peakRss ? formatBytes(totals.peakRss) : 'not sampled'],
        [
            'Allocated',
            `${formatBytes(totals.allocatedBytes)} in ${formatCount(totals.allocations)} allocations`,
        ],
        ['Released', formatCount(totals.frees)],
        [
            'Temporary',
            isSample
                ? ''
                : `${formatCount(totals.temporaryAllocations)} (${formatShare(totals.temporaryAllocations, totals.allocations)} of allocations)`,
        ],
        .../** @type {Fact[]} */ (rare.filter(([, value]) => value)),
    ]);
}

/** @param {any} overhead */
function overheadFacts(overhead) {
    const perEvent = overhead.events > 0 ? overhead.captureBytes / overhead.events : 0;
    return factList([
        ['In the program, beside the hot path', formatTime(overhead.slowNs)],
        ['Waiting for room', formatTime(overhead.waitNs)],
        ['Memory in the program', overhead.targetBytes ? formatBytes(overhead.targetBytes) : ''],
        ['Collector, CPU', formatTime(overhead.collectorNs)],
        ['Collector, memory', formatBytes(overhead.collectorRss)],
        [
            'Capture',
            `${formatBytes(overhead.captureBytes)} for ${formatCount(overhead.events)} records` +
                (perEvent ? `, ${perEvent.toFixed(1)} B each` : ''),
        ],
    ]);
}

/** @param {any} meta @returns {string[]} what this page leaves out, and how far numbers may be off */
export function pageLimits(meta) {
    const { folded, totals } = meta;
    const lines = [];
    if (folded.partsPerMillion > 0) {
        const percent = folded.partsPerMillion / 1e4;
        const [peak, leaks, allocated] = folded.shares.map((/** @type {number} */ ppm) =>
            formatShare(ppm, 1e6),
        );
        lines.push(
            `${formatCount(folded.stacks)} stacks with less than ${percent}% of every view are shown together as [smaller stacks]: ${peak} of the peak, ${leaks} of what leaked, ${allocated} of what was allocated. No bytes are left out.`,
        );
    }
    if (folded.merged) {
        const bytes = formatBytes(folded.joinedBytes);
        const share = formatShare(folded.joinedBytes, totals.peakBytes);
        lines.push(
            `Blocks of one stack that lived at nearly the same time are joined. At any moment of a part of the run no box, nor all of them together, is off by more than ${bytes} (${share} of the peak). Numbers of the whole run and the heap's curve are exact.`,
        );
    }
    if (lines.length === 0) lines.push('Every stack and every number is exact.');
    else
        lines.push(
            'memtrack flamegraph --full leaves nothing out, --max-size chooses another size.',
        );
    return lines;
}

/** @param {number} i @returns {string} the sizes of a class, such as "64 to 127 B", "1 to 2 KiB" */
function sizeClass(i) {
    if (i < 2) return `${i} B`;
    const [from, unit] = trimZeros(formatBytes(2 ** (i - 1))).split(' ');
    const [to, toUnit] = trimZeros(formatBytes(i > 10 ? 2 ** i : 2 ** i - 1)).split(' ');
    return `${from}${unit === toUnit ? '' : ' ' + unit} to ${to} ${toUnit}`;
}

/** @param {any} meta */
function sizeTable(meta) {
    const rows = [];
    let all = 0;
    for (const count of meta.sizeAllocations) all += count;
    for (let i = 0; i < meta.sizeAllocations.length; i++) {
        if (meta.sizeAllocations[i] === 0) continue;
        rows.push([
            sizeClass(i),
            formatCount(meta.sizeAllocations[i]),
            formatShare(meta.sizeAllocations[i], all),
            formatBytes(meta.sizeBytes[i]),
        ]);
    }
    return factTable('Sizes of allocations', ['Size', 'Allocations', 'Share', 'Bytes'], rows);
}

/** @param {any} meta */
function lifetimeTable(meta) {
    const names = [
        'under 1 ms',
        '1 to 10 ms',
        '10 to 100 ms',
        '0.1 to 1 s',
        '1 s and longer',
        'to the end',
    ];
    let all = 0;
    for (const count of meta.lifetimes) all += count;
    return factTable(
        'Lifetimes of blocks',
        ['Lifetime', 'Allocations', 'Share'],
        names.map((name, i) => [
            name,
            formatCount(meta.lifetimes[i]),
            formatShare(meta.lifetimes[i], all),
        ]),
    );
}

/**
 * @param {any} meta
 * @param {any} thread
 * @returns {string} such as "MainThread (4242)"
 */
export function threadName(meta, thread) {
    const name = thread.name || (thread.main ? 'main thread' : 'thread');
    const process = meta.processes.length > 1 ? meta.processes[thread.process] : null;
    return `${name} (${thread.tid})${process ? `, ${process.name || 'process'} ${process.pid}` : ''}`;
}

/** @param {any} meta */
function failureTable(meta) {
    const rows = meta.failures.map((/** @type {any} */ failure) => [
        [failure.function, failure.place].filter(Boolean).join(', '),
        formatCount(failure.count),
        formatBytes(failure.largest),
        formatTime(failure.first),
    ]);
    const more = meta.failurePlaces - meta.failures.length;
    if (more > 0) rows.push([`${formatCount(more)} more in memtrack stats`, '', '', '']);
    return factTable('Failed allocations', ['Where', 'Failed', 'Largest', 'First at'], rows);
}

/** @param {string} text */
function asSentence(text) {
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/**
 * @param {HTMLElement} panel
 * @param {any} meta
 */
export function renderInfo(panel, meta) {
    const warnings = makeElement('ul', { class: 'warnings' });
    for (const text of meta.warnings) warnings.append(makeElement('li', {}, asSentence(text)));
    const limits = makeElement('ul', {});
    for (const text of pageLimits(meta)) limits.append(makeElement('li', {}, text));
    const threads = meta.threads.map((/** @type {any} */ thread) => [
        threadName(meta, thread),
        formatCount(thread.allocations),
        formatBytes(thread.allocatedBytes),
        formatBytes(thread.peakBytes),
    ]);
    const allocators = meta.allocators.map((/** @type {any} */ allocator) => [
        allocator.name,
        formatCount(allocator.allocations),
        formatBytes(allocator.allocatedBytes),
        formatBytes(allocator.peakBytes),
    ]);
    const processes = meta.processes.map((/** @type {any} */ process) => [
        `${process.name || 'process'} (${process.pid})${process.tracked ? '' : ', not tracked'}`,
        formatCount(process.allocations),
        formatBytes(process.peakBytes),
        process.peakRss ? formatBytes(process.peakRss) : '',
    ]);
    panel.replaceChildren(
        makeElement(
            'div',
            { class: 'info' },
            ...(meta.warnings.length > 0 ? [section('Warnings', warnings)] : []),
            section('Totals', totalFacts(meta.totals, meta.sampleBytes > 0)),
            ...(meta.limits.length > 0
                ? [section('Limits of memory', factList(limitFacts(meta)))]
                : []),
            ...(meta.failures.length > 0
                ? [section('Failed allocations', failureTable(meta))]
                : []),
            section('Program', programFacts(meta)),
            section(
                'Allocators',
                factTable('Allocators', ['Allocator', 'Allocations', 'Bytes', 'Peak'], allocators),
            ),
            section(
                'Threads',
                factTable('Threads', ['Thread', 'Allocations', 'Bytes', 'Peak'], threads),
            ),
            ...(processes.length > 1
                ? [
                      section(
                          'Processes',
                          factTable(
                              'Processes',
                              ['Process', 'Allocations', 'Peak', 'RSS'],
                              processes,
                          ),
                      ),
                  ]
                : []),
            section('Sizes', sizeTable(meta)),
            section('Lifetimes', lifetimeTable(meta)),
            section('What memtrack itself did cost', overheadFacts(meta.overhead)),
            section('This page', limits),
        ),
    );
}
