import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawnLimits, failedText, limitFacts, nearnessText } from '../src/limits.js';
import { noPage, pagePath, readPage } from './support.js';

const limit = (steps, name = 'memory.max') => ({ limit: name, name, steps });

test('a limit is drawn where it is at most four times what is shown', () => {
    assert.deepEqual(drawnLimits([limit([[0, 401]])], 100), []);
    assert.deepEqual(drawnLimits([limit([[0, 400]])], 100), [
        { limit: 'memory.max', steps: [[0, 400]], highest: 400 },
    ]);
    const steps = [
        [0, 1000],
        [5, 300],
        [7, null],
    ];
    const [drawn] = drawnLimits([limit(steps)], 100);
    assert.deepEqual(
        drawn.steps.map(([, bytes]) => bytes),
        [null, 300, null],
    );
    assert.equal(drawn.highest, 300);
});

test('equal limits of several processes are one line, and there are three at most', () => {
    const equal = drawnLimits([limit([[0, 50]]), limit([[9, 50]])], 100);
    assert.equal(equal.length, 1);
    const names = ['a', 'b', 'c', 'd'];
    const many = drawnLimits(
        names.map((name) => limit([[0, 50]], name)),
        100,
    );
    assert.deepEqual(
        many.map((drawn) => drawn.limit),
        ['a', 'b', 'c'],
    );
});

test('how near it came is said in words', () => {
    assert.equal(
        nearnessText({ bytes: 512 * 2 ** 20, left: 2 ** 20, time: 3.2e9 }),
        '512 MiB, came within 1.00 MiB of it at 3.20 s',
    );
    assert.equal(
        nearnessText({ bytes: 2 ** 30, left: 0, time: 0 }),
        '1.00 GiB, was reached at 0 s',
    );
    assert.equal(failedText(1), '1 failed allocation');
    assert.equal(failedText(1200), '1,200 failed allocations');
});

test('the page knows its limits and what failed', { skip: noPage }, () => {
    const { meta, samples } = readPage(pagePath);
    const names = limitFacts(meta).map(([name]) => name);
    assert.deepEqual(names, ['memory.max of the cgroup', 'RLIMIT_AS', 'memory of the machine']);
    assert.equal(meta.limits[0].steps.length, 2);
    assert.equal(
        meta.limits[0].left,
        Math.floor((meta.totals.peakRss * 5) / 4) - meta.totals.peakRss,
    );
    assert.deepEqual(meta.failed, [
        [samples.count / 4, 3],
        [samples.count / 2, 1],
    ]);
    assert.deepEqual(
        meta.failures.map(({ count }) => count),
        [3, 1],
    );
    assert.equal(meta.failurePlaces, 2);
});
