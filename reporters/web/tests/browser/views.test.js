// The views of the page besides the graph, and what changes it: steps, groups, colours, files.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { formatBytes, formatCount } from '../../src/format.js';
import { readPage } from '../support.js';
import { boxOf, brush, clickFlame, openPage, settle, startBrowser, textOf } from './browser.js';

const path = process.env.MEMTRACK_PAGE;
const { meta } = readPage(path);
let browser;
let stop;

before(async () => {
    ({ browser, stop } = await startBrowser());
});
after(() => stop());

function pageTest(name, options, use) {
    test(name, async (context) => {
        const { page, faults } = await openPage(browser, path, options);
        context.after(() => page.close());
        await use(page);
        assert.deepEqual(faults, []);
    });
}

const link = (page) => page.evaluate(() => location.hash);
const press = async (page, key) => {
    await page.keyboard.press(key);
    await settle(page);
};
const chips = (page) =>
    page.$$eval('#steps .chip', (all) => all.map((one) => one.textContent.replace(/\s+✕$/, '')));
/** What the caption counts, in bytes as it is written. */
const shown = async (page) => (await textOf(page, '#caption')).split(' in ')[0];

pageTest('steps are made by keys, shown, kept in the link and taken back', {}, async (page) => {
    const whole = await textOf(page, '#caption');
    await clickFlame(page, 0.2, 3);
    const name = await textOf(page, '#function');
    await press(page, 'f');
    assert.deepEqual(await chips(page), [`focus on ${name}`]);
    assert.match(await textOf(page, '#caption'), /^\S+ .iB of \S+ .iB in /);
    const focused = await textOf(page, '#caption');
    await clickFlame(page, 0.2, 2);
    await press(page, 'd');
    assert.equal((await chips(page)).length, 2);
    assert.match(await link(page), /x=focus\.f[0-9a-f]{8}%2Cremove\.f[0-9a-f]{8}/);
    const both = await textOf(page, '#caption');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await settle(page);
    assert.equal(await textOf(page, '#caption'), both);
    await press(page, 'Backspace');
    assert.equal(await textOf(page, '#caption'), focused);
    await page.click('#steps .chip');
    await settle(page);
    assert.equal(await textOf(page, '#caption'), whole);
    assert.equal(await page.$eval('#steps', (line) => line.hidden), true);
});

pageTest(
    'hide, only through and one box for a module keep or cut what they say',
    {},
    async (page) => {
        const all = formatBytes(meta.totals.peakBytes);
        await clickFlame(page, 0.2, 3);
        await press(page, 'h');
        assert.equal(await shown(page), all);
        await clickFlame(page, 0.2, 3);
        await page.click('#act-collapse');
        await settle(page);
        assert.equal(await shown(page), all);
        assert.match((await chips(page))[1], /^one box for /);
        await clickFlame(page, 0.8, 4);
        await press(page, 'k');
        assert.notEqual(await shown(page), all);
        await page.click('#steps .toggle');
        await settle(page);
        assert.deepEqual(await chips(page), []);
    },
);

pageTest('callers and callees of a function hold what it holds', {}, async (page) => {
    await press(page, 's');
    assert.match(await link(page), /v=sandwich.*f=[0-9a-f]{8}/);
    await page.$$eval('.functions button', (all) => all[5].click());
    await settle(page);
    const name = await page.$eval('.functions [aria-current] span', (one) => one.textContent);
    const size = await page.$eval('.functions [aria-current] .number', (one) => one.textContent);
    const head = await textOf(page, '.sandwich-head');
    assert.ok(head.startsWith(name) && head.includes(size), head);
    const [x, y, width] = await page.$eval('.sandwich section:nth-of-type(2) canvas', (one) => {
        const box = one.getBoundingClientRect();
        return [box.x, box.y, box.width];
    });
    await page.mouse.move(x + width / 2, y + 10);
    await settle(page);
    assert.match(await textOf(page, '#tip'), new RegExp(size.replace('.', '\\.')));
    await page.mouse.click(x + width * 0.3, y + 30);
    await settle(page);
    assert.notEqual(await textOf(page, '.sandwich-head'), head);
});

pageTest('the tree opens and closes by keys', {}, async (page) => {
    await press(page, 'e');
    const rows = () => page.$$eval('#panel-tree tbody tr', (all) => all.length);
    const before = await rows();
    await page.focus('#panel-tree tbody tr');
    await press(page, 'ArrowLeft');
    assert.equal(await rows(), 1);
    await press(page, 'ArrowRight');
    assert.equal(await rows(), before);
    await press(page, 'ArrowDown');
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.match(focused, new RegExp(formatBytes(meta.totals.peakBytes)));
    await press(page, '*');
    assert.ok((await rows()) > before);
    assert.equal(await textOf(page, '#function'), '<module>');
});

pageTest('threads, allocators, modules and phases are chosen in their tables', {}, async (page) => {
    await press(page, 'w');
    const choose = async (title, row) => {
        await page.$$eval(
            '.groups section',
            (all, name, at) => {
                const section = all.find((one) => one.querySelector('h2').textContent === name);
                section.querySelectorAll('tbody button')[at].click();
            },
            title,
            row,
        );
        await settle(page);
    };
    const whole = await textOf(page, '#caption');
    for (const [title, field] of [
        ['Threads', /thread=\d/],
        ['Allocators', /allocator=\d/],
        ['Modules', /x=keep\.m/],
    ]) {
        await choose(title, 1);
        assert.match(await link(page), field);
        assert.notEqual(await textOf(page, '#caption'), whole);
        await choose(title, 1);
        assert.equal(await textOf(page, '#caption'), whole);
    }
    await choose('Phases', 1);
    const [, , name, peak] = meta.phases[1];
    assert.equal(await page.$eval('#phase', (one) => one.selectedOptions[0].textContent), name);
    assert.equal(await shown(page), formatBytes(peak));
    await page.click('#to-peak');
    await settle(page);
    assert.equal(await textOf(page, '#caption'), whole);
    assert.equal(await page.$eval('#to-peak', (one) => one.hidden), true);
});

pageTest('the groups of a view add up to it', { link: '#v=groups&m=leaks' }, async (page) => {
    const counts = await page.$$eval('.groups section', (all) =>
        all.slice(0, 3).map((one) => {
            const cells = [...one.querySelectorAll('tbody td:nth-child(5)')];
            return cells.reduce(
                (sum, cell) => sum + Number(cell.textContent.replaceAll(',', '')),
                0,
            );
        }),
    );
    assert.deepEqual(new Set(counts), new Set([meta.totals.leakedAllocations]));
});

pageTest('source is said to be missing where it is', { link: '#v=source' }, async (page) => {
    assert.match(await textOf(page, '.source-code'), /Its text is not in this page/);
    const rows = await page.$$('.source-code tbody tr');
    assert.ok(rows.length >= 1);
    const first = await page.$eval('.functions .number', (one) => one.textContent);
    assert.match(first, /iB$/);
    const isSeen = await page.$eval('.source-code', (code) => {
        const heat = (row) => Number(row.style.getPropertyValue('--heat'));
        const hot = [...code.querySelectorAll('tr.hot')].sort((a, b) => heat(b) - heat(a))[0];
        const [line, window] = [hot.getBoundingClientRect(), code.getBoundingClientRect()];
        return line.top >= window.top && line.bottom <= window.bottom;
    });
    assert.ok(isSeen);
});

pageTest('the root goes to the bottom, and the arrow keys with it', {}, async (page) => {
    await press(page, 'u');
    assert.match(await link(page), /up=1/);
    const { y, height, x, width } = await boxOf(page, '#flame');
    await page.mouse.move(x + width / 2, y + height - 10);
    await settle(page);
    assert.match(await textOf(page, '#tip'), /^all/);
    await page.focus('#flame');
    await press(page, 'ArrowUp');
    assert.match(await textOf(page, '#speak'), /depth 1$/);
});

pageTest('groups are a level of the graph', {}, async (page) => {
    await press(page, 'y');
    assert.match(await link(page), /g=thread/);
    await clickFlame(page, 0.1, 1);
    assert.match(await textOf(page, '#function'), /\(4242\)$/);
    assert.equal(await page.$eval('#actions', (one) => one.hidden), true);
    await press(page, 'f');
    assert.deepEqual(await chips(page), []);
});

pageTest('colours are by module, kind, size and growth, each with its legend', {}, async (page) => {
    const seen = new Set();
    for (const by of ['module', 'kind', 'size', 'growth']) {
        seen.add(await textOf(page, '#origins'));
        if (by !== 'module') assert.match(await link(page), new RegExp(`color=${by}`));
        await press(page, 'm');
    }
    assert.equal(seen.size, 4);
    await page.evaluate(() => document.querySelector('#origins button').click());
    await settle(page);
    assert.deepEqual(await chips(page), ['only through your code']);
    assert.equal(
        await page.$eval('#origins button', (one) => one.getAttribute('aria-pressed')),
        'true',
    );
    await page.evaluate(() => document.querySelector('#origins button').click());
    await settle(page);
    assert.deepEqual(await chips(page), []);
});

pageTest('the axis is time or allocations, and a range is the same on both', {}, async (page) => {
    await brush(page, 0.3, 0.6);
    const range = await textOf(page, '#range');
    const caption = await textOf(page, '#caption');
    await press(page, 'x');
    assert.match(await link(page), /axis=allocations/);
    assert.equal(await textOf(page, '#range'), range);
    assert.equal(await textOf(page, '#caption'), caption);
    await brush(page, 0.7, 0.9);
    assert.notEqual(await textOf(page, '#range'), range);
});

pageTest('what is found is kept or removed', {}, async (page) => {
    const all = formatCount(meta.totals.peakAllocations);
    await press(page, '/');
    await page.keyboard.type('pandas');
    await settle(page);
    const [, part] = (await textOf(page, '#found')).match(/found, (\S+ .iB),/);
    await page.click('#keep-hits');
    await settle(page);
    assert.equal(await shown(page), `${part} of ${formatBytes(meta.totals.peakBytes)}`);
    assert.deepEqual(await chips(page), ['only through “pandas”']);
    await page.click('#steps .chip');
    await settle(page);
    assert.match(await textOf(page, '#caption'), new RegExp(`in ${all} blocks`));
});

pageTest('pictures, the table and stacks are saved as they are shown', {}, async (page) => {
    await page.evaluate(() => {
        window.saved = [];
        URL.createObjectURL = (blob) => {
            window.saved.push(blob);
            return '#';
        };
        HTMLAnchorElement.prototype.click = function () {
            window.saved.push(this.download);
        };
    });
    await page.click('[data-mode=leaks]');
    await settle(page);
    const save = async (kind) => {
        await page.evaluate((name) => document.getElementById(`export-${name}`).click(), kind);
        await page.waitForFunction(() => window.saved.length === 2);
        return page.evaluate(async () => {
            const [blob, name] = window.saved.splice(0);
            const bytes = new Uint8Array(await blob.arrayBuffer());
            return { name, type: blob.type, text: await blob.text(), head: [...bytes.slice(0, 4)] };
        });
    };
    const svg = await save('svg');
    assert.equal(svg.name, 'train.py.svg');
    assert.equal(
        await page.evaluate((text) => {
            const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
            return (
                parsed.querySelectorAll('rect').length > 20 && !parsed.querySelector('parsererror')
            );
        }, svg.text),
        true,
    );
    const png = await save('png');
    assert.deepEqual(png.head, [0x89, 0x50, 0x4e, 0x47]);
    const csv = (await save('csv')).text.trim().split('\r\n');
    assert.equal(csv[0], 'function,file,line,total_bytes,own_bytes,allocations');
    const own = csv.slice(1).reduce((sum, line) => sum + Number(line.split(',').at(-2)), 0);
    assert.equal(own, meta.totals.leakedBytes);
    const folded = (await save('folded')).text.trim().split('\n');
    const all = folded.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    assert.equal(all, meta.totals.leakedBytes);
    assert.ok(
        folded.every((line) => line.startsWith('<module> (train.py:1)') || line.startsWith('[')),
    );
});

pageTest('a selected stack is copied as text', {}, async (page) => {
    await page.evaluate(() => {
        Object.defineProperty(navigator, 'clipboard', {
            value: { writeText: (text) => ((window.copied = text), Promise.resolve()) },
        });
    });
    await clickFlame(page, 0.2, 3);
    await page.click('#act-copy');
    await settle(page);
    const copied = await page.evaluate(() => window.copied);
    assert.equal(copied.split('\n').length, 3);
    assert.match(copied, /^<module> {2}train\.py:1\n/);
    assert.equal(await textOf(page, '#speak'), 'stack copied');
});

for (const [what, change] of [
    ['cut off', (html) => html.replace(/(id="data-rows"[^>]*>[^<]{1000})[^<]*/, '$1')],
    [
        'damaged',
        (html) => html.replace(/(id="data-nodes"[^>]*>)[^<]{40}/, '$1' + 'AAAA'.repeat(10)),
    ],
    ['no JSON', (html) => html.replace('id="data-meta">{', 'id="data-meta">')],
    ['gone', (html) => html.replace('id="data-samples"', 'id="data-other"')],
]) {
    test(`data that is ${what} is said, above the picture`, async (context) => {
        const damaged = path.replace(/\.html$/, '-damaged.html');
        writeFileSync(damaged, change(readFileSync(path, 'utf8')));
        const { page, faults } = await openPage(browser, damaged);
        context.after(() => page.close());
        assert.match(await textOf(page, '#static [role=alert]'), /cannot be read \(.+\): it was/);
        assert.ok((await page.$$('#static svg rect')).length > 20);
        assert.equal(await page.$eval('#app', (app) => app.hidden), true);
        assert.deepEqual(faults, []);
    });
}
