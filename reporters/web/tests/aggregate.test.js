import assert from 'node:assert/strict';
import { test } from 'node:test';
import { familyCurves, filterRows, liveRows, peakSample, sumRows } from '../src/aggregate.js';
import { NOWHERE } from '../src/forest.js';
import { smallModel } from './support.js';

const all = { thread: -1, process: -1, allocator: -1 };
const sum = (model, query, mask = null) => [...sumRows(model, query, mask).bytes];

test('the whole run shows the recorded numbers', () => {
    const rows = sumRows(smallModel(), { mode: 'peak', from: 0, to: 3 });
    assert.deepEqual([...rows.bytes], [10, 100, 7, 30]);
    assert.deepEqual([...rows.allocations], [1, 2, 1, 3]);
    assert.equal(rows.isWhole, true);
    assert.equal(rows.sample, 1);
});

test('the peak of a range is what is live at its highest sample', () => {
    const model = smallModel();
    assert.equal(peakSample(model, 0, 3), 1);
    assert.equal(peakSample(model, 2, 3), 2);
    assert.deepEqual(sum(model, { mode: 'peak', from: 0, to: 1 }), [10, 100, 7, 30]);
    assert.deepEqual(sum(model, { mode: 'peak', from: 2, to: 3 }), [10, 0, 7, 0]);
    assert.deepEqual(sum(model, { mode: 'peak', from: 0, to: 0 }), [10, 0, 0, 30]);
});

test('not freed in range leaves out what was there before and what went in it', () => {
    const model = smallModel();
    assert.deepEqual(sum(model, { mode: 'kept', from: 1, to: 1 }), [0, 100, 7, 0]);
    assert.deepEqual(sum(model, { mode: 'kept', from: 1, to: 2 }), [0, 0, 7, 0]);
    assert.deepEqual(sum(model, { mode: 'kept', from: 0, to: 2 }), [10, 0, 7, 0]);
});

test('leaked in range is what was never released', () => {
    assert.deepEqual(sum(smallModel(), { mode: 'leaks', from: 0, to: 1 }), [10, 0, 7, 0]);
});

test('allocated in range is what came in it', () => {
    assert.deepEqual(sum(smallModel(), { mode: 'allocated', from: 0, to: 0 }), [10, 0, 0, 30]);
});

test('temporary allocations are of the whole run whatever the range', () => {
    const rows = sumRows(smallModel(), { mode: 'temporary', from: 1, to: 1 });
    assert.equal(rows.isWhole, true);
    assert.deepEqual([...rows.bytes], [10, 100, 7, 30]);
});

test('what was allocated after the last sample belongs to the range that reaches the end', () => {
    const model = smallModel();
    model.intervals.from[0] = 4;
    assert.deepEqual(sum(model, { mode: 'leaks', from: 1, to: 3 }), [10, 0, 7, 0]);
    assert.deepEqual(sum(model, { mode: 'leaks', from: 1, to: 2 }), [0, 0, 7, 0]);
});

test('what is released behind the last sample did not leak', () => {
    const model = smallModel();
    model.intervals.to[0] = 4;
    assert.deepEqual(sum(model, { mode: 'leaks', from: 0, to: 1 }), [0, 0, 7, 0]);
    assert.deepEqual(sum(model, { mode: 'kept', from: 0, to: 2 }), [10, 0, 7, 0]);
    assert.deepEqual(sum(model, { mode: 'kept', from: 1, to: 3 }), [0, 0, 7, 0]);
});

test('filters leave one thread, process or allocator', () => {
    const model = smallModel();
    const whole = { mode: 'peak', from: 0, to: 3 };
    const site = model.rows.node;
    const filtered = (filter) => sum(model, whole, filterRows(model, { ...all, ...filter }, site));
    assert.deepEqual(filtered({}), [10, 100, 7, 30]);
    assert.deepEqual(filtered({ thread: 2 }), [0, 0, 7, 30]);
    assert.deepEqual(filtered({ process: 0 }), [10, 100, 0, 0]);
    assert.deepEqual(filtered({ allocator: 33 }), [0, 0, 7, 0]);
    assert.deepEqual(filtered({ thread: 1, allocator: 33 }), [0, 0, 0, 0]);
    const nowhere = Uint32Array.from([NOWHERE, 0, 0, NOWHERE]);
    const mask = filterRows(model, all, nowhere);
    assert.deepEqual(sum(model, whole, mask), [0, 100, 7, 0]);
    const curves = familyCurves(model, mask);
    assert.deepEqual([...curves[0]], [0, 100, 0, 0]);
});

test('what is live at a sample is told row by row', () => {
    assert.deepEqual([...liveRows(smallModel(), 0)], [10, 0, 0, 30]);
    assert.deepEqual([...liveRows(smallModel(), 2)], [10, 0, 7, 0]);
});

test('asking does not change the model', () => {
    const model = smallModel();
    sumRows(model, { mode: 'peak', from: 0, to: 3 }, new Uint8Array(4));
    assert.deepEqual(sum(model, { mode: 'peak', from: 0, to: 3 }), [10, 100, 7, 30]);
});

test('the curves of the families add up to the heap', () => {
    const model = smallModel();
    const curves = familyCurves(model, null);
    for (let i = 0; i < model.samples.count; i++) {
        const height = curves.reduce((total, curve) => total + curve[i], 0);
        assert.equal(height, model.samples.heap[i]);
    }
    assert.deepEqual([...curves[1]], [0, 7, 7, 7]);
});

test('a model without samples or intervals has numbers still', () => {
    const model = smallModel();
    model.samples = { count: 0, time: [], heap: [], blocks: [], rss: [] };
    model.intervals.count = 0;
    assert.deepEqual(sum(model, { mode: 'peak', from: 0, to: 0 }), [10, 100, 7, 30]);
    assert.equal(familyCurves(model, null)[0].length, 0);
});
