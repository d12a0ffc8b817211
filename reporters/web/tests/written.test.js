// The pages that the reporter wrote, read by the page's own modules, against numbers that were
// counted block by block.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { familyCurves, sumRows } from '../src/aggregate.js';
import { Names } from '../src/names.js';
import { ownCosts, totalCosts } from '../src/tree.js';
import { buildTree, expectedPath, noPage, pagePath, readExpected, readPage } from './support.js';

const whole = (model) => ({
    mode: 'peak',
    from: 0,
    to: model.samples.count - 1,
});
const sum = (values) => values.reduce((total, value) => total + value, 0);

test('the whole run has the totals of the capture', { skip: noPage }, () => {
    const model = readPage(pagePath);
    const { totals } = model.meta;
    const bytes = (mode) => sum(sumRows(model, { ...whole(model), mode }).bytes);
    const count = (mode) => sum(sumRows(model, { ...whole(model), mode }).allocations);
    assert.equal(bytes('peak'), totals.peakBytes);
    assert.equal(count('peak'), totals.peakAllocations);
    assert.equal(bytes('leaks'), totals.leakedBytes);
    assert.equal(count('leaks'), totals.leakedAllocations);
    assert.equal(bytes('allocated'), totals.allocatedBytes);
    assert.equal(count('allocated'), totals.allocations);
    assert.equal(count('temporary'), totals.temporaryAllocations);
    assert.equal(model.samples.heap[model.meta.peakSample], totals.peakBytes);
});

test('every range shows what was counted block by block', { skip: noPage }, () => {
    const model = readPage(pagePath);
    const { questions } = readExpected(expectedPath);
    assert.ok(questions.length >= 200);
    for (const { from, to, peakSample, peak, kept, leaks } of questions) {
        const ask = (mode) => sumRows(model, { ...whole(model), mode, from, to });
        const isExact = !model.meta.folded.merged;
        const same = (actual, expected, what) =>
            isExact
                ? assert.equal(actual, expected, `${what} of ${from}-${to}`)
                : assert.ok(
                      Math.abs(actual - expected) <= 0.03 * model.meta.totals.peakBytes,
                      `${what} of ${from}-${to}: ${actual}, expected ${expected}`,
                  );
        const highest = ask('peak');
        assert.equal(highest.sample, peakSample);
        same(sum(highest.bytes), peak, 'peak');
        const off = Math.abs(sum(highest.bytes) - peak);
        assert.ok(off <= model.meta.folded.joinedBytes, `${off} is more than is said`);
        same(sum(ask('kept').bytes), kept, 'kept');
        same(sum(ask('leaks').bytes), leaks, 'leaks');
    }
});

test('the curves of the families add up to the heap', { skip: noPage }, () => {
    const model = readPage(pagePath);
    const curves = familyCurves(model, null);
    for (let i = 0; i < model.samples.count; i++) {
        const height = sum(curves.map((curve) => curve[i]));
        const slack = model.meta.folded.merged ? 0.03 * model.meta.totals.peakBytes : 0;
        assert.ok(Math.abs(height - model.samples.heap[i]) <= slack);
    }
});

test('all trees hold the same bytes', { skip: noPage }, () => {
    const model = readPage(pagePath);
    const { bytes } = sumRows(model, whole(model));
    for (let i = 0; i < 8; i++) {
        const tree = buildTree(model, {
            isInverted: (i & 1) > 0,
            showsRuntime: (i & 2) > 0,
            foldsRecursion: (i & 4) > 0,
        });
        const total = totalCosts(tree, ownCosts(tree, bytes));
        assert.equal(total[0], model.meta.totals.peakBytes);
        assert.equal(tree.end[0], tree.count);
    }
});

test('siblings of the recorded tree stand by their bytes at the peak', { skip: noPage }, () => {
    const model = readPage(pagePath);
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    const total = totalCosts(tree, ownCosts(tree, sumRows(model, whole(model)).bytes));
    for (let node = 0; node < tree.count; node++) {
        let before = Infinity;
        for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
            assert.ok(total[child] <= before);
            before = total[child];
        }
    }
});

test('texts that would be markup or are no text at all are harmless', { skip: noPage }, () => {
    const model = readPage(pagePath);
    const names = new Names(model);
    const all = Array.from({ length: model.frames.count }, (_, i) => names.functionOf(i));
    const odd = all.find((name) => name.startsWith('</script><script>'));
    assert.equal(odd, '</script><script>' + '\ufffd'.repeat(4) + ' \ufffd\ufffd');
    const html = readFileSync(pagePath, 'utf8');
    assert.ok(!html.includes('</script><script>\ufffd'));
    assert.ok(!html.includes('<b>'));
    assert.equal(html.match(/<script/g).length, html.match(/<\/script>/g).length);
});

test('the page names nothing outside itself', { skip: noPage }, () => {
    const html = readFileSync(pagePath, 'utf8');
    const outside = html.match(
        /(?:src|href)=|url\(|@import|fetch\(|XMLHttpRequest|innerHTML|eval\(/g,
    );
    assert.deepEqual(outside, null);
    assert.deepEqual([...new Set(html.match(/https?:[^"' )<]*/g))], ['http://www.w3.org/2000/svg']);
});

test('what is folded is said', { skip: noPage }, () => {
    const { folded } = readPage(pagePath).meta;
    const kind = process.env.MEMTRACK_PAGE_KIND;
    const isFolded = kind === 'folded' || kind === 'joined';
    assert.equal(folded.merged, kind === 'joined');
    assert.equal(folded.joinedBytes > 0, kind === 'joined');
    assert.equal(folded.partsPerMillion > 0, isFolded);
    assert.equal(folded.stacks > 0, isFolded);
});

test('a page is bounded', { skip: noPage }, () => {
    assert.ok(readFileSync(pagePath).length < 2 << 20);
});
