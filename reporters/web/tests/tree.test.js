import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../src/names.js';
import { hasRecursion, layoutTree, ownCosts, totalCosts } from '../src/tree.js';
import { buildTree, smallModel } from './support.js';

/** A tree as text: names by depth. */
function outline(model, tree) {
    const names = new Names(model);
    const lines = [];
    for (let i = 0; i < tree.count; i++) {
        lines.push(' '.repeat(tree.depth[i]) + names.functionOf(tree.frame[i]));
    }
    return lines;
}

const totals = (model, tree) => [...totalCosts(tree, ownCosts(tree, model.rows.bytes[0]))];

test('the recorded tree is as it was recorded', () => {
    const model = smallModel();
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    assert.deepEqual(outline(model, tree), [
        'all',
        ' main',
        '  load',
        '   parse',
        '  importer',
        '   load',
    ]);
    assert.deepEqual([...tree.end], [6, 6, 4, 4, 6, 6]);
    assert.equal(tree.height, 3);
    assert.deepEqual(totals(model, tree), [147, 147, 100, 100, 37, 30]);
});

test('without runtime frames their callees move up and merge', () => {
    const model = smallModel();
    const tree = buildTree(model, { isInverted: false, showsRuntime: false });
    assert.deepEqual(outline(model, tree), ['all', ' main', '  load', '   parse']);
    // load: 100 of parse and its own 30 from below the importer; 7 of the importer are main's.
    assert.deepEqual(totals(model, tree), [147, 147, 130, 100]);
    assert.deepEqual([...ownCosts(tree, model.rows.bytes[0])], [0, 17, 30, 100]);
});

test('inverted, what allocated comes first and its callers below', () => {
    const model = smallModel();
    const tree = buildTree(model, { isInverted: true, showsRuntime: true });
    assert.deepEqual(outline(model, tree), [
        'all',
        ' parse',
        '  load',
        '   main',
        ' load',
        '  importer',
        '   main',
        ' main',
        ' importer',
        '  main',
    ]);
    assert.deepEqual(totals(model, tree), [147, 100, 100, 100, 30, 30, 30, 10, 7, 7]);
});

test('folded, what calls itself is one box, and nothing is lost', () => {
    const model = smallModel();
    assert.equal(hasRecursion(model), false);
    model.nodes.frame[3] = 1; // load calls itself
    assert.equal(hasRecursion(model), true);
    const upright = buildTree(model, {
        isInverted: false,
        showsRuntime: true,
        foldsRecursion: true,
    });
    assert.deepEqual(outline(model, upright), ['all', ' main', '  load', '  importer', '   load']);
    assert.deepEqual(totals(model, upright), [147, 147, 100, 37, 30]);
    const inverted = buildTree(model, {
        isInverted: true,
        showsRuntime: true,
        foldsRecursion: true,
    });
    assert.deepEqual(outline(model, inverted), [
        'all',
        ' load',
        '  main',
        '  importer',
        '   main',
        ' main',
        ' importer',
        '  main',
    ]);
    assert.deepEqual(totals(model, inverted), [147, 130, 100, 30, 30, 10, 7, 7]);
});

test('siblings stand by weight, whatever is counted', () => {
    const model = smallModel();
    model.rows.bytes[0][3] = 1000;
    const tree = buildTree(model, { isInverted: true, showsRuntime: false });
    assert.equal(outline(model, tree)[1], ' load');
});

test('boxes of siblings stand side by side inside their parent', () => {
    const model = smallModel();
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    const { left, total } = layoutTree(tree, ownCosts(tree, model.rows.bytes[0]));
    assert.deepEqual([...left], [0, 0, 0, 0, 100, 100]);
    for (let i = 1; i < tree.count; i++) {
        const parent = tree.parent[i];
        assert.ok(left[i] >= left[parent]);
        assert.ok(left[i] + total[i] <= left[parent] + total[parent]);
    }
});

test('a tree of the root alone is a tree', () => {
    const model = smallModel();
    for (const key of ['parent', 'depth', 'frame']) model.nodes[key] = model.nodes[key].slice(0, 1);
    model.nodes.count = 1;
    model.rows.count = 0;
    model.rows.node = model.rows.node.slice(0, 0);
    for (const isInverted of [false, true]) {
        const tree = buildTree(model, { isInverted, showsRuntime: false });
        assert.equal(tree.count, 1);
        assert.deepEqual([...tree.end], [1]);
    }
});
