// What the page says of a range of time is what the text report says of it, for random ranges of
// real captures. One of them has no events, so that both tell the same instants.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { sumRows } from '../src/aggregate.js';
import { readPage } from './support.js';

const binary = process.env.MEMTRACK_BINARY;
const captures = (process.env.MEMTRACK_CAPTURES ?? '').split(' ').filter(Boolean);
const skip =
    binary && captures.length > 0 ? false : 'MEMTRACK_BINARY or MEMTRACK_CAPTURES is missing';
const RANGES = 200;
const MODES = [
    ['peak', ['--at', 'peak']],
    ['kept', ['--at', 'end']],
    ['leaks', ['--leaks']],
];

/** Numbers that look random and are the same in each run. */
function* numbers() {
    for (let state = 42; ; state = (Math.imul(state, 1664525) + 1013904223) >>> 0)
        yield state / 2 ** 32;
}

/** @param {number} ns @returns {string} as options of the command line have it */
const micros = (ns) => `${(ns / 1e3).toFixed(3)}us`;

function report(capture, from, to, options) {
    const range = `--range=${micros(from)}:${micros(to)}`;
    const text = execFileSync(binary, ['stats', '--json', range, ...options, capture]);
    return JSON.parse(text.toString()).view;
}

const total = (values) => values.reduce((sum, value) => sum + value, 0);

for (const [place, capture] of captures.entries()) {
    test(`${RANGES} ranges of capture ${place} are as stats has them`, { skip }, () => {
        const page = capture.replace(/\.bin$/, '.html');
        execFileSync(binary, ['flamegraph', '-q', '-f', '--full', '-o', page, capture]);
        const model = readPage(page);
        const { time, count } = model.samples;
        const hasEvents = !capture.endsWith('stored.bin');
        const random = numbers();
        for (let i = 0; i < RANGES; i++) {
            const a = Math.floor(random.next().value * count);
            const b = Math.floor(random.next().value * count);
            const [from, to] = [Math.min(a, b), Math.max(a, b)];
            // With events, what is between the instants of samples belongs to a range too.
            const [mode, options] = hasEvents ? MODES[0] : MODES[i % MODES.length];
            const begin = hasEvents ? Math.max(0, time[from] - 1) : time[from];
            const expected = report(capture, begin, time[to], options);
            const { bytes, allocations } = sumRows(model, { mode, from, to });
            assert.deepEqual(
                [total(bytes), total(allocations)],
                [expected.bytes, expected.allocations],
                `${mode} from sample ${from} to ${to}`,
            );
        }
    });
}
