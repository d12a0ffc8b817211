import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldedStacks, tableCsv } from '../src/export.js';
import { sizeStep } from '../src/color.js';
import { addGroups, groupRows } from '../src/groups.js';
import { KIND_GROUP, Names } from '../src/names.js';
import { placePhases } from '../src/phases.js';
import { escapeXml } from '../src/picture.js';
import { collectFiles } from '../src/source.js';
import { countTicks } from '../src/ticks.js';
import { layoutTree, ownCosts } from '../src/tree.js';
import { Trie } from '../src/trie.js';
import { buildTree, smallModel } from './support.js';

test('groups are frames behind the recorded ones, and rows have one each', () => {
    const model = smallModel();
    const names = new Names(model);
    const groups = addGroups(model, names);
    assert.ok(model.frames.count > names.recorded);
    const titles = (by) =>
        [...groupRows(model, names, groups, by)].map((frame) => {
            assert.equal(model.frames.kind[frame], KIND_GROUP);
            return names.functionOf(frame);
        });
    assert.deepEqual(titles('process'), ['app (42)', 'app (42)', 'child (44)', 'child (44)']);
    assert.deepEqual(titles('allocator'), ['malloc', 'malloc', 'pymalloc', 'malloc']);
    assert.deepEqual(titles('module'), ['app', 'json', 'app', 'app']);
    assert.equal(titles('thread')[3], 'other (43), child 44');
    assert.equal(groupRows(model, names, groups, ''), null);
    for (let frame = 0; frame < names.recorded; frame++)
        assert.equal(names.fileOf(frame).length > 0, frame !== 2);
    assert.equal(names.placeOf(groups.threads), '');
});

test('a thread or allocator that the page does not know has a group still', () => {
    const model = smallModel();
    model.rows.thread[0] = 0;
    model.rows.allocator[1] = 99;
    const names = new Names(model);
    const groups = addGroups(model, names);
    assert.equal(names.functionOf(groupRows(model, names, groups, 'thread')[0]), 'no thread');
    assert.equal(names.functionOf(groupRows(model, names, groups, 'process')[0]), 'no thread');
    assert.equal(names.functionOf(groupRows(model, names, groups, 'allocator')[1]), 'no thread');
});

test('a trie finds each child again, however many there are', () => {
    const trie = new Trie(1);
    const made = [];
    for (let i = 0; i < 5000; i++) made.push(trie.child(i % 7 === 0 ? 0 : i, i));
    assert.equal(trie.count, 5001);
    for (let i = 0; i < 5000; i++) {
        assert.equal(trie.child(i % 7 === 0 ? 0 : i, i), made[i]);
        assert.equal(trie.frame[made[i]], i);
    }
    assert.equal(trie.count, 5001);
});

/** What exports need of an app. */
function exported() {
    const model = smallModel();
    const names = new Names(model);
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    const layout = layoutTree(tree, ownCosts(tree, model.rows.bytes[0]));
    return { model, names, tree, layout };
}

test('folded stacks have one line for each stack that holds something', () => {
    assert.deepEqual(foldedStacks(exported()).trim().split('\n'), [
        'main (app.py:1) 10',
        'main (app.py:1);load (app.py:5);parse (json.py:9) 100',
        'main (app.py:1);importer 7',
        'main (app.py:1);importer;load (app.py:5) 30',
    ]);
});

test('a field of CSV is quoted where it must be', () => {
    const app = exported();
    const string = app.model.string;
    app.model.string = (number) => (number === 1 ? 'lo"ad, or\nnot' : string(number));
    app.table = { byLine: true, rows: () => [{ frame: 1, total: 130, own: 30, allocations: 5 }] };
    assert.equal(tableCsv(app).split('\r\n')[1], '"lo""ad, or\nnot",/w/app.py,5,130,30,5');
});

test('nothing in a picture can be markup or what XML does not have', () => {
    assert.equal(escapeXml('<a b="c">&\x01\uffff'), '&#60;a b=&#34;c&#34;&#62;&#38;\ufffd\ufffd');
});

test('files stand by what their lines allocated', () => {
    const { model, names } = exported();
    const row = (frame, own) => ({ frame, own, total: own, allocations: 1 });
    const files = collectFiles(names, [row(0, 5), row(1, 30), row(2, 900), row(3, 100)]);
    assert.deepEqual(
        files.map(({ file, own }) => [model.string(file), own]),
        [
            ['/usr/lib/python3.13/json.py', 100],
            ['/w/app.py', 35],
        ],
    );
    assert.deepEqual([...files[1].lines.keys()], [1, 5]);
});

test('sizes have five steps, counts round numbers', () => {
    assert.deepEqual([0, 0.0009, 0.001, 0.05, 0.1, 0.5, 1].map(sizeStep), [0, 0, 1, 2, 3, 4, 4]);
    assert.deepEqual(countTicks(0, 5), [0]);
    assert.deepEqual(countTicks(7, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(countTicks(60000, 4), [0, 20000, 40000, 60000]);
});

test('phases that overlap stand below each other', () => {
    const placed = placePhases(
        [
            [0, 10, 'a', 1],
            [2, 5, 'b', 2],
            [3, 4, 'c', 3],
            [3, 9, 'd', 4],
            [5, 6, 'e', 5],
            [10, 12, 'f', 6],
        ],
        3,
    );
    assert.deepEqual(
        placed.map(({ name, row }) => name + row),
        ['a0', 'b1', 'c2', 'e1', 'f0'],
    );
});
