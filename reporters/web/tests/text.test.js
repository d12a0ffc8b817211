import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCaption } from '../src/caption.js';
import { Palette } from '../src/color.js';
import {
    formatBytes,
    formatCount,
    formatShare,
    formatTime,
    shortenPath,
    trimZeros,
} from '../src/format.js';
import { Labels } from '../src/labels.js';
import { KIND_NATIVE, Names, ORIGIN_NATIVE, ORIGIN_OWN, ORIGIN_PACKAGE } from '../src/names.js';
import { findPath, formatLink, hashPath, parseLink } from '../src/permalink.js';
import { readState, stateFields } from '../src/state.js';
import { byteTicks, timeTicks } from '../src/ticks.js';
import { buildTree, smallModel } from './support.js';

test('sizes have three digits', () => {
    const cases = [
        [0, '0 B'],
        [1023, '1023 B'],
        [1024, '1.00 KiB'],
        [10230, '9.99 KiB'],
        [10240, '10.0 KiB'],
        [1048000, '1023 KiB'],
        [1048570, '1.00 MiB'],
        [1.31 * 2 ** 30, '1.31 GiB'],
        [-2048, '-2.00 KiB'],
    ];
    for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text);
});

test('counts, shares and times read as they are read aloud', () => {
    assert.equal(formatCount(0), '0');
    assert.equal(formatCount(41203), '41,203');
    assert.equal(formatCount(1234567890), '1,234,567,890');
    assert.equal(formatShare(1, 3), '33.3%');
    assert.equal(formatShare(1, 1e9), '<0.1%');
    assert.equal(formatShare(0, 0), '0%');
    assert.equal(formatTime(0), '0 s');
    assert.equal(formatTime(2.5e8), '250 ms');
    assert.equal(formatTime(19.1e9), '19.1 s');
    assert.equal(formatTime(125e9), '2m05s');
    assert.equal(formatTime(59.99e9), '1m00s');
    assert.equal(formatTime(3 * 3600e9 + 7 * 60e9), '3h07m');
});

test('on an axis numbers have no zeros at their end', () => {
    assert.equal(trimZeros('1.50 s'), '1.5 s');
    assert.equal(trimZeros('1.00 KiB'), '1 KiB');
    assert.equal(trimZeros('10.0 MiB'), '10 MiB');
    assert.equal(trimZeros('100 MiB'), '100 MiB');
    assert.equal(trimZeros('1.05 s'), '1.05 s');
    assert.equal(trimZeros('2m05s'), '2m05s');
});

test('a path is shortened to what tells it apart', () => {
    const cases = [
        ['/w/.venv/lib/python3.13/site-packages/torch/nn.py', 'torch/nn.py'],
        ['/usr/lib/python3/dist-packages/apt.py', 'apt.py'],
        ['/usr/lib/python3.13/json/decoder.py', 'json/decoder.py'],
        ['/w/app/main.py', 'app/main.py'],
        ['/srv/app.py', '/srv/app.py'],
        ['/a/b/c/d/e.py', '…/c/d/e.py'],
        ['<frozen importlib._bootstrap>', '<frozen importlib._bootstrap>'],
    ];
    for (const [file, short] of cases) assert.equal(shortenPath(file, '/w'), short);
});

test('labels are cut where they no longer fit', () => {
    const labels = new Labels({ measureText: (text) => ({ width: text.length * 10 }) });
    assert.equal(labels.cut('function', 80), 'function');
    assert.equal(labels.cut('function', 79), 'functi…');
    assert.equal(labels.cut('function', 30), 'fu…');
    assert.equal(labels.cut('function', 29), '');
});

test('ticks are round, start at 0 and stay inside', () => {
    for (const most of [1, 7, 1000, 61.8 * 2 ** 20, 3.9 * 2 ** 30, 2 ** 41]) {
        const ticks = byteTicks(most, 4);
        assert.equal(ticks[0], 0);
        assert.ok(ticks.length >= 2 && ticks.length <= 6, `${most}: ${ticks}`);
        assert.ok(ticks[ticks.length - 1] <= most * 1.001);
    }
    for (const most of [900, 5e6, 38.4e9, 90e9, 7200e9, 86400e9 * 3]) {
        const ticks = timeTicks(most, 10);
        assert.ok(ticks.length >= 3 && ticks.length <= 11, `${most}: ${ticks.length}`);
    }
});

test('a link names a node by its path and finds it again', () => {
    const model = smallModel();
    const names = new Names(model);
    const tree = buildTree(model, { isInverted: false, showsRuntime: true });
    const hashes = new Set();
    for (let node = 1; node < tree.count; node++) {
        const hash = hashPath(tree, names, node);
        assert.match(hash, /^[0-9a-f]{8}$/);
        assert.equal(findPath(tree, names, hash), node);
        hashes.add(hash);
    }
    assert.equal(hashes.size, tree.count - 1);
    assert.equal(hashPath(tree, names, 0), '');
    for (const wrong of ['', '00000000', 'zzz', '<script>']) {
        assert.equal(findPath(tree, names, wrong), 0);
    }
});

test('boxes of modules are named by their files', () => {
    const model = smallModel();
    const names = new Names({
        ...model,
        string: (number) =>
            [
                '<module>',
                '/w/app/main.py',
                'main',
                '/a/b/c/d/e.py',
                '/a/lib/python3/b/json/__init__.py',
            ][number],
        frames: {
            ...model.frames,
            count: 5,
            function: [0, 2, 0, 0, 2],
            file: [1, 1, 3, 1, 4],
            line: [3, 8, 5, 0, 9],
            module: [0, 0, 0, 0, 0],
        },
        meta: { ...model.meta, directory: '/w' },
    });
    const said = [0, 1, 2, 3, 4, -1].map((frame) => [names.titleOf(frame), names.asideOf(frame)]);
    assert.deepEqual(said, [
        ['app/main.py', 'line 3'],
        ['main', 'main.py:8'],
        ['e.py', 'line 5'],
        ['app/main.py', ''],
        ['main', 'json/__init__.py:9'],
        ['all', ''],
    ]);
});

test('packages are ranked by the area of their boxes', () => {
    const model = smallModel();
    const files = { 4: '/x/site-packages/big/a.py', 5: '/x/dist-packages/small.py' };
    const names = new Names({ ...model, string: (number) => files[number] ?? 'f' });
    assert.deepEqual(
        [...names.groupsOf(ORIGIN_PACKAGE)],
        [
            ['big', (147 + 100 + 30) / 147],
            ['small', 100 / 147],
        ],
    );
});

test('native frames are of their module, and of the program where their source is', () => {
    const model = smallModel();
    const { frames } = model;
    const [own, foreign, nameless] = [0, 1, 3];
    for (const frame of [own, foreign, nameless]) {
        frames.kind[frame] = KIND_NATIVE;
        frames.module[frame] = 8;
        frames.file[frame] = { [own]: 5, [foreign]: 6, [nameless]: 0 }[frame];
    }
    const texts = { 0: '', 5: '/w/solve.c', 6: '/usr/src/zlib/deflate.c', 7: 'libz.so.1' };
    const names = new Names({
        ...model,
        string: (number) => texts[number] ?? 'f',
        meta: { ...model.meta, directory: '/w' },
    });
    const native = { origin: ORIGIN_NATIVE, group: 'libz.so.1' };
    assert.deepEqual(
        [own, foreign, nameless].map((frame) => names.originOf(frame)),
        [{ origin: ORIGIN_OWN, group: '' }, native, native],
    );
    assert.deepEqual([...names.groupsOf(ORIGIN_NATIVE).keys()], ['libz.so.1']);
    texts[7] = 'fast.cpython-313-x86_64-linux-gnu.so';
    assert.equal(new Names({ ...model, string: (number) => texts[number] }).moduleOf(0), 'fast.so');
    const palette = new Palette(names, false);
    assert.notEqual(palette.moduleColor(own, 0), palette.moduleColor(foreign, 0));
    assert.equal(palette.moduleColor(foreign, 0), palette.moduleColor(nameless, 0));
    assert.notEqual(palette.originColor(ORIGIN_NATIVE, 0), palette.originColor(ORIGIN_NATIVE, 1));
});

test('a page opens at the time it was made for, and its link leaves it', () => {
    const model = smallModel();
    Object.assign(model.meta, { view: 'allocated', from: 1, to: 2 });
    const { state } = readState(model, '');
    assert.deepEqual([state.mode, state.from, state.to], ['allocated', 1, 2]);
    assert.equal(formatLink(stateFields(model, state, '')), '#');
    Object.assign(state, { from: 0, to: 3 });
    const link = formatLink(stateFields(model, state, ''));
    assert.equal(link, '#t=0-3');
    assert.deepEqual(readState(model, link).state, state);
});

test('the state goes into a link and comes back', () => {
    const model = smallModel();
    const { state } = readState(model, '');
    assert.equal(formatLink(stateFields(model, state, '')), '#');
    Object.assign(state, {
        mode: 'kept',
        metric: 'count',
        from: 1,
        to: 2,
        thread: 2,
        allocator: 33,
        isInverted: true,
        showsRuntime: true,
        foldsRecursion: true,
        tab: 'table',
        query: 'a&b=(ü',
        isRegex: true,
        label: 'source',
    });
    const link = formatLink(stateFields(model, state, '0badcafe'));
    assert.deepEqual(readState(model, link), { state, node: '0badcafe' });
});

test('a link that nobody made is no harm', () => {
    const model = smallModel();
    const first = readState(model, '').state;
    for (const link of [
        '#',
        '#%',
        '#t=9-1',
        '#m=constructor&v=__proto__&t=a-b&q=%E0%A4%A',
        '#&&==',
        '#n=%00',
    ]) {
        assert.deepEqual(readState(model, link).state, first, link);
    }
    assert.deepEqual(readState(model, '#t=2-99').state.to, 3);
    assert.equal(Object.getPrototypeOf(parseLink('#__proto__=1')), Object.prototype);
});

test('the caption says what is counted', () => {
    const model = smallModel();
    const say = (mode, from, to, isWhole, sample = -1, isFiltered = false) =>
        makeCaption(
            model,
            { mode, from, to },
            { isWhole, sample },
            { bytes: 2048, allocations: 3, isFiltered },
        ).rest;
    assert.equal(say('peak', 0, 3, true, 1), 'in 3 blocks, live at the peak at 1.00 s');
    assert.match(say('peak', 2, 3, false, 2), /highest moment of the range at 2\.00 s/);
    assert.equal(say('leaks', 0, 3, true), 'in 3 blocks, not released at the end');
    assert.match(
        say('kept', 1, 2, false),
        /allocated from 1\.00 s to 2\.00 s and not released by then/,
    );
    assert.match(
        say('allocated', 0, 2, false),
        /from 0 s to 2\.00 s; what was released within 1\.00 s is not/,
    );
    assert.match(say('temporary', 0, 3, true), /^in 3 allocations, .*one other/);
    model.meta.totals.peakBytes = 4096;
    assert.match(say('peak', 0, 3, true, 1, true), /^of 4\.00 KiB in 3 blocks, /);
    // The heap itself is told exactly, whatever the boxes add up to; of a part that is not known.
    assert.match(say('peak', 2, 3, false, 2), /^in 2 blocks, .*; the boxes add up to 2\.00 KiB/);
    assert.match(say('peak', 2, 3, false, 2, true), /^of 17 B in 3 blocks, [^;]*$/);
    model.samples.heap[2] = 2048;
    model.meta.minSize = 1024;
    assert.match(say('leaks', 0, 3, true), /; blocks smaller than 1(\.00)? KiB are left out$/);
    Object.assign(model.meta, { minSize: 0, sampleBytes: 524288, standardErrors: [2048, 0, 1, 0] });
    assert.match(
        say('peak', 0, 3, true, 1),
        /; an estimate \u00b12(\.00)? KiB from one block in 512 KiB$/,
    );
    assert.match(say('peak', 2, 3, false, 2), /; an estimate from one block in 512 KiB$/);
    assert.match(say('temporary', 0, 3, true), /a sample does not tell what was temporary/);
    model.meta.sampledFromNs = 2_000_000_000;
    assert.match(
        say('peak', 2, 3, false, 2),
        /; an estimate from one block in 512 KiB at last, after 2\.00 s of all$/,
    );
});
