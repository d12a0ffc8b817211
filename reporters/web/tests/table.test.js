import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../src/names.js';
import { groupFrames, sortRows, sumGroups } from '../src/table.js';
import { ownCosts, totalCosts } from '../src/tree.js';
import { buildTree, smallModel } from './support.js';

function rowsOf(model, byLine) {
    const names = new Names(model);
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    const ownBytes = ownCosts(tree, model.rows.bytes[0]);
    const rows = sumGroups(tree, groupFrames(names, byLine), {
        ownBytes,
        totalBytes: totalCosts(tree, ownBytes),
        ownAllocations: ownCosts(tree, model.rows.allocations[0]),
    });
    return { names, rows };
}

const brief = (names, rows) => rows.map((row) => [names.functionOf(row.frame), row.total, row.own]);

test('a row has what its function allocated, with and without its callees', () => {
    const { names, rows } = rowsOf(smallModel(), false);
    assert.deepEqual(brief(names, sortRows(rows, 'total', false, names)), [
        ['main', 147, 10],
        ['load', 130, 30],
        ['parse', 100, 100],
        ['importer', 37, 7],
    ]);
});

test('a function that calls itself is counted once', () => {
    const model = smallModel();
    model.nodes.frame[3] = 1;
    const { names, rows } = rowsOf(model, false);
    const load = rows.find((row) => names.functionOf(row.frame) === 'load');
    assert.equal(load.total, 130);
    assert.equal(load.own, 130);
});

test('lines of one function are one row or rows of their own', () => {
    const model = smallModel();
    model.frames.function[3] = 1;
    model.frames.file[3] = 4;
    assert.equal(rowsOf(model, false).rows.length, 3);
    assert.equal(rowsOf(model, true).rows.length, 4);
});

test('rows sort by number and by text, both ways', () => {
    const { names, rows } = rowsOf(smallModel(), false);
    const first = (key, isRising) =>
        names.functionOf(sortRows(rows, key, isRising, names)[0].frame);
    assert.equal(first('own', false), 'parse');
    assert.equal(first('own', true), 'importer');
    assert.equal(first('allocations', false), 'load');
    assert.equal(first('function', true), 'importer');
    assert.equal(first('function', false), 'parse');
    assert.equal(first('place', true), 'importer');
});
