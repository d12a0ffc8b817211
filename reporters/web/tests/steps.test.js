import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addGroups } from '../src/groups.js';
import { around, recordedForest } from '../src/forest.js';
import { Names } from '../src/names.js';
import { applyStep, formatSteps, parseSteps, targetMask, targetTitle } from '../src/steps.js';
import { ownCosts, sortForest, totalCosts } from '../src/tree.js';
import { buildTree, smallModel } from './support.js';

const shape = { isInverted: false, showsRuntime: true };

/** A tree as text: names by depth, with what they hold. */
function outline(model, tree) {
    const names = new Names(model);
    const total = totalCosts(tree, ownCosts(tree, model.rows.bytes[0]));
    const lines = [];
    for (let i = 0; i < tree.count; i++) {
        if (total[i] === 0) continue;
        lines.push(`${' '.repeat(tree.depth[i])}${names.functionOf(tree.frame[i])} ${total[i]}`);
    }
    return lines;
}

/** The target of a function. */
function functionTarget(model, name) {
    const names = new Names(model);
    for (let frame = 0; frame < model.frames.count; frame++) {
        if (names.functionOf(frame) === name) return 'f' + names.keyOf(frame);
    }
    throw new Error(name);
}

function stepped(steps, by = '', more = {}) {
    const model = smallModel();
    const made = steps.map(([kind, target]) => ({
        kind,
        target: target.startsWith('=') ? target.slice(1) : functionTarget(model, target),
    }));
    return outline(model, buildTree(model, { ...shape, ...more, steps: made }, by));
}

test('focus shows what a function and its callees hold, wherever it is called', () => {
    assert.deepEqual(stepped([['focus', 'load']]), ['all 130', ' load 130', '  parse 100']);
});

test('only through keeps whole stacks', () => {
    assert.deepEqual(stepped([['keep', 'importer']]), [
        'all 37',
        ' main 37',
        '  importer 37',
        '   load 30',
    ]);
});

test('a hidden function leaves what it holds to its callers', () => {
    assert.deepEqual(stepped([['hide', 'load']]), [
        'all 147',
        ' main 147',
        '  parse 100',
        '  importer 37',
    ]);
});

test('a removed function takes its stacks along', () => {
    assert.deepEqual(stepped([['remove', 'importer']]), [
        'all 110',
        ' main 110',
        '  load 100',
        '   parse 100',
    ]);
});

test('a collapsed module is one box where its functions follow one another', () => {
    assert.deepEqual(stepped([['collapse', '=mapp']]), [
        'all 147',
        ' app 147',
        '  parse 100',
        '  importer 37',
        '   app 30',
    ]);
});

test('steps follow one another, and each works on what is left', () => {
    const steps = [
        ['hide', 'importer'],
        ['focus', 'load'],
    ];
    assert.deepEqual(stepped(steps), ['all 130', ' load 130', '  parse 100']);
    assert.deepEqual(stepped([...steps, ['remove', 'parse']]), ['all 30', ' load 30']);
    assert.deepEqual(stepped([['remove', 'main']]), []);
});

test('a step for what is not there changes nothing', () => {
    assert.equal(stepped([['focus', '=fdeadbeef']])[0], 'all 147');
    assert.equal(stepped([['collapse', '=mnothing']])[0], 'all 147');
});

test('patterns and origins are targets too', () => {
    assert.equal(stepped([['keep', '=tJSON']])[0], 'all 100');
    assert.equal(stepped([['remove', '=r^(parse|importer)$']])[0], 'all 10');
    assert.equal(stepped([['keep', '=o2']])[0], 'all 100');
    assert.deepEqual(stepped([['keep', '=r(']])[0], 'all 147');
});

test('groups stand below the root, whether callers or callees come first', () => {
    assert.deepEqual(stepped([], 'thread'), [
        'all 147',
        ' main thread (42), app 42 110',
        '  main 110',
        '   load 100',
        '    parse 100',
        ' other (43), child 44 37',
        '  main 37',
        '   importer 37',
        '    load 30',
    ]);
    const inverted = stepped([['keep', 'importer']], 'process', { isInverted: true });
    assert.deepEqual(inverted, [
        'all 37',
        ' child (44) 37',
        '  load 30',
        '   importer 30',
        '    main 30',
        '  importer 7',
        '   main 7',
    ]);
    assert.deepEqual(stepped([], 'allocator').slice(0, 2), ['all 147', ' malloc 140']);
    assert.deepEqual(stepped([], 'module').slice(0, 2), ['all 147', ' json 100']);
});

test('callers and callees of a function meet in it', () => {
    const model = smallModel();
    const names = new Names(model);
    addGroups(model, names);
    const mask = targetMask(names, functionTarget(model, 'load'));
    const half = (isCallers) =>
        outline(model, sortForest(model, around(recordedForest(model), mask, 1, isCallers)));
    assert.deepEqual(half(false), ['load 130', ' parse 100']);
    assert.deepEqual(half(true), ['load 130', ' main 100', ' importer 30', '  main 30']);
});

test('of a function that calls itself the outermost call counts', () => {
    const model = smallModel();
    model.nodes.frame[3] = 1; // load calls itself
    const names = new Names(model);
    addGroups(model, names);
    const mask = targetMask(names, functionTarget(model, 'load'));
    const half = (isCallers) =>
        outline(model, sortForest(model, around(recordedForest(model), mask, 1, isCallers)));
    assert.deepEqual(half(false), ['load 130', ' load 100']);
    assert.deepEqual(half(true), ['load 130', ' main 100', ' importer 30', '  main 30']);
});

test('a step leaves the forest that it was given as it was', () => {
    const model = smallModel();
    const names = new Names(model);
    const { modules } = addGroups(model, names);
    const forest = recordedForest(model);
    const before = JSON.stringify([...forest.parent, ...forest.frame, ...forest.site]);
    for (const kind of ['focus', 'keep', 'hide', 'remove']) {
        applyStep(forest, { kind, target: functionTarget(model, 'load') }, names, modules);
    }
    assert.equal(JSON.stringify([...forest.parent, ...forest.frame, ...forest.site]), before);
});

test('steps go into a link and come back', () => {
    const steps = [
        { kind: 'focus', target: 'f0badcafe' },
        { kind: 'collapse', target: 'ma,b.c%~/d' },
        { kind: 'remove', target: 'r^a{2,3}\\.b' },
    ];
    assert.deepEqual(parseSteps(formatSteps(steps)), steps);
    assert.deepEqual(parseSteps(''), []);
    assert.deepEqual(parseSteps('explode.f1,focus.%E0%A4%A'), []);
});

test('steps are called by the names of what they are of', () => {
    const model = smallModel();
    const names = new Names(model);
    assert.equal(targetTitle(names, functionTarget(model, 'load')), 'load');
    assert.equal(targetTitle(names, 'mnumpy'), 'numpy');
    assert.equal(targetTitle(names, 'o1/numpy'), 'numpy');
    assert.equal(targetTitle(names, 'o2'), 'standard library');
    assert.equal(targetTitle(names, 'k1'), 'native');
    assert.equal(targetTitle(names, 'tx y'), '“x y”');
    assert.equal(targetTitle(names, 'rx+'), '/x+/');
    assert.equal(targetTitle(names, 'f00000000'), 'what is not in this page');
});
