import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../src/names.js';
import { makeMatcher, matchFrames, matchNodes } from '../src/search.js';
import { ownCosts, totalCosts } from '../src/tree.js';
import { buildTree, smallModel } from './support.js';

function find(text, isRegex) {
    const model = smallModel();
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    const total = totalCosts(tree, ownCosts(tree, model.rows.bytes[0]));
    const { test: matches } = makeMatcher(text, isRegex);
    return matchNodes(tree, total, matchFrames(new Names(model), matches));
}

test('plain text matches anywhere and in any case', () => {
    const found = find('LOAD', false);
    assert.deepEqual([...found.nodes], [2, 5]);
    assert.equal(found.total, 130);
});

test('what is below a match is not counted twice', () => {
    assert.deepEqual([...find('a', false).nodes], [1]);
    assert.equal(find('a', false).total, 147);
});

test('files and lines are searched', () => {
    assert.deepEqual([...find('json.py:9', false).nodes], [3]);
    assert.deepEqual([...find('app.py', false).nodes], [1]);
});

test('a regular expression is one only when asked for', () => {
    assert.deepEqual([...find('^(load|parse)$', true).nodes], [2, 5]);
    assert.deepEqual([...find('^(load|parse)$', false).nodes], []);
});

test('a bad regular expression is said, not thrown', () => {
    for (const text of ['(', '[', '*', '(?<', '\\']) {
        const matcher = makeMatcher(text, true);
        assert.equal(matcher.test, null);
        assert.match(matcher.error, /^not a regular expression: ./);
    }
    assert.equal(makeMatcher('(', false).error, '');
});

test('no text is no search', () => {
    assert.equal(makeMatcher('', true).test, null);
    assert.equal(makeMatcher('', false).error, '');
});
