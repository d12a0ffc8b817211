// The page in a browser, used as people use it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { formatBytes } from '../../src/format.js';
import { TABS } from '../../src/state.js';
import { readExpected, readPage } from '../support.js';
import { boxOf, brush, clickFlame, openPage, settle, startBrowser, textOf } from './browser.js';

const path = process.env.MEMTRACK_PAGE;
const expected = readExpected(process.env.MEMTRACK_EXPECTED);
const { meta } = readPage(path);
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
let browser;
let stop;

before(async () => {
    ({ browser, stop } = await startBrowser());
});
after(() => stop());

/** A test with a page of its own, which must have no faults in the end. */
function pageTest(name, options, use) {
    test(name, async (context) => {
        const { page, faults } = await openPage(browser, path, options);
        context.after(() => page.close());
        await use(page);
        assert.deepEqual(faults, []);
    });
}

pageTest('the page shows the peak and asks for nothing but itself', {}, async (page) => {
    assert.equal(await page.$('#static'), null);
    assert.equal(await textOf(page, '#program'), 'train.py');
    assert.match(
        await textOf(page, '#caption'),
        new RegExp(`^${formatBytes(meta.totals.peakBytes)} in `),
    );
    const colors = await page.$eval('#flame', (canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    });
    assert.ok(colors > 20, `${colors} colours are drawn`);
});

test('the policy forbids what the page does not do anyway', async () => {
    const { page } = await openPage(browser, path);
    const tried = await page.evaluate(async () => {
        const refused = [];
        document.addEventListener('securitypolicyviolation', (event) =>
            refused.push(event.effectiveDirective),
        );
        await fetch('http://127.0.0.1:9/').catch(() => 0);
        const script = document.createElement('script');
        script.textContent = 'window.harm = 1';
        document.body.append(script);
        await new Promise((done) => setTimeout(done, 50));
        return { refused, harm: window.harm };
    });
    assert.deepEqual(tried.refused.sort(), ['connect-src', 'script-src-elem']);
    assert.equal(tried.harm, undefined);
    await page.close();
});

pageTest('a range of time is counted as it was block by block', {}, async (page) => {
    for (const { from, to, peak, kept } of expected.questions.slice(1, 4)) {
        await page.goto(`${page.url().split('#')[0]}#t=${from}-${to}`);
        await page.reload();
        await page.waitForSelector('html[data-ready]');
        assert.match(
            await textOf(page, '#caption'),
            new RegExp(`^${formatBytes(peak)} in .*highest moment`),
        );
        await page.click('[data-mode=kept]');
        await settle(page);
        assert.match(
            await textOf(page, '#caption'),
            new RegExp(`^${formatBytes(kept)} in .*not released by`),
        );
    }
});

pageTest(
    'dragging over the timeline selects, moving and double click change it',
    {},
    async (page) => {
        const whole = await textOf(page, '#caption');
        await brush(page, 0.2, 0.4);
        const range = await textOf(page, '#range');
        assert.match(range, /s to .* s/);
        assert.notEqual(await textOf(page, '#caption'), whole);
        await brush(page, 0.3, 0.5);
        assert.notEqual(await textOf(page, '#range'), range);
        const width = (await page.evaluate(() => location.hash)).match(/t=(\d+)-(\d+)/);
        await page.keyboard.press(']');
        await settle(page);
        const moved = (await page.evaluate(() => location.hash)).match(/t=(\d+)-(\d+)/);
        assert.equal(moved[2] - moved[1], width[2] - width[1]);
        assert.ok(Number(moved[1]) > Number(width[1]));
        await page.keyboard.press('+');
        await settle(page);
        const shorter = (await page.evaluate(() => location.hash)).match(/t=(\d+)-(\d+)/);
        assert.ok(shorter[2] - shorter[1] < moved[2] - moved[1]);
        await page.click('#range');
        await settle(page);
        assert.equal(await textOf(page, '#caption'), whole);
        assert.equal(await page.$eval('#range', (element) => element.hidden), true);
    },
);

pageTest('a click zooms and Escape shows everything again', {}, async (page) => {
    await clickFlame(page, 0.2, 4);
    assert.match(await page.evaluate(() => location.hash), /n=[0-9a-f]{8}/);
    assert.equal(await page.$eval('#zoom-out', (element) => element.hidden), false);
    assert.notEqual(await textOf(page, '#function'), 'all');
    await page.keyboard.press('Escape');
    await settle(page);
    assert.equal(await page.$eval('#zoom-out', (element) => element.hidden), true);
    assert.equal(await page.evaluate(() => location.hash), '');
});

pageTest('the arrow keys walk the graph and the selection is spoken', {}, async (page) => {
    await page.focus('#flame');
    const walked = [];
    for (const key of [
        'ArrowDown',
        'ArrowDown',
        'ArrowDown',
        'ArrowRight',
        'ArrowLeft',
        'ArrowUp',
    ]) {
        await page.keyboard.press(key);
        walked.push(await textOf(page, '#speak'));
    }
    assert.match(walked[0], /^<module> at train\.py:1, .* MiB, 100\.0%, depth 1$/);
    assert.match(walked[2], /depth 3$/);
    assert.equal(walked[4], walked[2]);
    assert.equal(walked[5], walked[1]);
    await page.keyboard.press('Enter');
    await settle(page);
    assert.match(await page.evaluate(() => location.hash), /n=/);
    assert.equal((await page.$$('#path li')).length, 3);
});

pageTest('search finds, counts and goes from match to match', {}, async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('pandas');
    await settle(page);
    assert.match(await textOf(page, '#found'), /^\d+ found, .* MiB, \d+\.\d%$/);
    const seen = new Set();
    for (let i = 0; i < 3; i++) {
        await page.keyboard.press('Enter');
        await settle(page);
        assert.match(await textOf(page, '#place'), /pandas/);
        seen.add((await textOf(page, '#speak')) + (await textOf(page, '#path')));
    }
    assert.equal(seen.size, 3);
    await page.keyboard.press('Escape');
    await settle(page);
    assert.equal(await textOf(page, '#found'), '');
});

pageTest('a bad regular expression is said', {}, async (page) => {
    await page.click('#regex');
    await page.focus('#query');
    await page.keyboard.type('(');
    await settle(page);
    assert.match(await textOf(page, '#found'), /^not a regular expression/);
    assert.equal(
        await page.$eval('#query', (element) => element.getAttribute('aria-invalid')),
        'true',
    );
    await page.keyboard.type('read_csv|loads)');
    await settle(page);
    assert.match(await textOf(page, '#found'), /^\d+ found/);
});

pageTest('a link brings back what was seen', {}, async (page) => {
    await brush(page, 0.3, 0.7);
    await page.click('[data-mode=leaks]');
    await page.click('[data-metric=count]');
    await page.select('#thread', '2');
    await clickFlame(page, 0.3, 2);
    const see = async () => ({
        link: await page.evaluate(() => location.hash),
        caption: await textOf(page, '#caption'),
        selected: await textOf(page, '#function'),
        pressed: await page.$$eval('[aria-pressed=true]', (all) =>
            all.map((one) => one.textContent),
        ),
    });
    const seen = await see();
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await settle(page);
    assert.deepEqual(await see(), seen);
    assert.match(seen.link, /m=leaks&u=count&t=\d+-\d+&thread=2&n=/);
});

pageTest('inverted, runtime frames, labels and filters are switched', {}, async (page) => {
    const link = () => page.evaluate(() => location.hash);
    await page.keyboard.press('i');
    await settle(page);
    assert.match(await link(), /i=1/);
    await page.click('#view-open');
    await page.click('#runtime');
    await settle(page);
    assert.match(await link(), /r=1/);
    await page.keyboard.press('Escape');
    assert.equal(await page.$eval('#view-menu', (menu) => menu.hidden), true);
    await page.keyboard.press('l');
    await settle(page);
    assert.match(await link(), /l=place/);
    await page.keyboard.press('r');
    await settle(page);
    assert.match(await link(), /c=1/);
    await page.click('#tab-table');
    await page.click('#tab-flame');
    const whole = await textOf(page, '#caption');
    await page.select('#allocator', '16');
    await settle(page);
    assert.notEqual(await textOf(page, '#caption'), whole);
    for (const mode of ['1', '2', '3', '4', '5']) {
        await page.keyboard.press(mode);
        await settle(page);
    }
    assert.match(await textOf(page, '#caption'), /in the whole run/);
});

pageTest('the tip shows the numbers of the box below the pointer', {}, async (page) => {
    const { x, y, width } = await boxOf(page, '#flame');
    await page.mouse.move(x + width / 2, y + 30);
    await settle(page);
    assert.match(await textOf(page, '#tip'), /^<module>train\.py:1total.*own.*blocks/);
    await page.mouse.move(x + width / 2, y - 40);
    await settle(page);
    assert.equal(await page.$eval('#tip', (tip) => tip.hidden), true);
});

pageTest('the table sorts and leads to callers and callees', {}, async (page) => {
    await page.keyboard.press('t');
    await settle(page);
    const column = (at) =>
        page.$$eval(
            '#panel-table tbody tr',
            (rows, i) => rows.map((row) => row.children[i].textContent),
            at,
        );
    const sorted = () =>
        page.$eval('#panel-table th[aria-sort]:not([aria-sort=none])', (head) => [
            head.dataset.key,
            head.ariaSort,
        ]);
    assert.deepEqual(await sorted(), ['own', 'descending']);
    await page.click('th[data-key=function] button');
    assert.deepEqual(await sorted(), ['function', 'ascending']);
    const names = await column(6);
    assert.ok(names.length > 20);
    assert.deepEqual(names, [...names].sort());
    await page.click('th[data-key=function] button');
    assert.deepEqual(await sorted(), ['function', 'descending']);
    const chosen = await page.$eval('#panel-table tbody .link', (link) => {
        link.click();
        return link.textContent;
    });
    await settle(page);
    assert.equal(await textOf(page, '#function'), chosen);
    assert.match(await textOf(page, '.sandwich-head'), new RegExp('^' + chosen));
    await page.keyboard.press('g');
    assert.equal(await page.$eval('#panel-flame', (panel) => panel.hidden), false);
});

pageTest('a long graph scrolls inside its window', {}, async (page) => {
    await page.$eval('#scroller', (scroller) => (scroller.scrollTop = 200));
    await settle(page);
    const { canvas, scroller } = await page.evaluate(() => ({
        canvas: document.getElementById('flame').getBoundingClientRect().toJSON(),
        scroller: document.getElementById('scroller').getBoundingClientRect().toJSON(),
    }));
    assert.equal(canvas.top, scroller.top);
    assert.equal(Math.round(canvas.height), Math.round(scroller.height));
    await clickFlame(page, 0.1, 0);
    assert.equal((await page.$$('#path li')).length, 11);
});

for (const [width, height] of [
    [1000, 600],
    [760, 600],
    [480, 700],
    [2560, 1440],
]) {
    pageTest(`at ${width} by ${height} nothing sticks out`, { width, height }, async (page) => {
        for (const tab of TABS) {
            await page.click('#tab-' + tab);
            await settle(page);
            const size = await page.evaluate(() => {
                const { scrollWidth, scrollHeight } = document.documentElement;
                return [scrollWidth, scrollHeight];
            });
            assert.deepEqual(size, [width, height], tab);
        }
        await page.click('#tab-flame');
        const flame = await boxOf(page, '#flame');
        assert.ok(flame.height >= 100 && flame.width >= width - 40, JSON.stringify(flame));
    });
}

pageTest('dark is as the system has it until it is switched', { theme: 'dark' }, async (page) => {
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await theme(), 'dark');
    const dark = await back();
    await page.click('#theme');
    await settle(page);
    assert.equal(await theme(), 'light');
    assert.notEqual(await back(), dark);
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    assert.equal(await theme(), 'light');
    await page.evaluate(() => localStorage.clear());
});

for (const [theme, width, limitColor, failedColor] of [
    ['light', 1440, [154, 74, 0], [179, 38, 30]],
    ['dark', 1440, [255, 178, 102], [255, 138, 128]],
    ['light', 480, [154, 74, 0], [179, 38, 30]],
]) {
    pageTest(
        `limits and failures are drawn, ${theme}, ${width}`,
        { theme, width },
        async (page) => {
            // Where pixels of a colour are: parts of the width and of the height.
            const [line, failed] = await page.$eval(
                '#timeline',
                (canvas, colors) => {
                    const { width, height } = canvas;
                    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
                    return colors.map((color) => {
                        const found = [];
                        for (let i = 0; i < width * height; i++)
                            if (color.every((part, k) => data[4 * i + k] === part))
                                found.push([(i % width) / width, Math.floor(i / width) / height]);
                        return found;
                    });
                },
                [limitColor, failedColor],
            );
            const rows = (from, to) =>
                new Set(line.filter(([x]) => x > from && x < to).map(([, y]) => y));
            // It is lowered in the middle: twice the peak of RSS, then 5/4 of it.
            const [before, after] = [rows(0.25, 0.5), rows(0.6, 0.7)];
            assert.ok(
                before.size >= 1 && after.size >= 1 && Math.max(...before) < Math.min(...after),
            );
            assert.ok(failed.some(([x, y]) => x > 0.25 && x < 0.4 && y > 0.7));
            assert.match(await textOf(page, '#legend'), /limitfailed$/);
            await page.click('#tab-info');
            await settle(page);
            const info = await textOf(page, '#panel-info');
            assert.match(
                info,
                /memory\.max of the cgroup[0-9.]+ .iB, came within [0-9.]+ .iB of it at/,
            );
            assert.match(info, /Failed allocations.*Where.*3.*1/s);
        },
    );
}

for (const theme of ['light', 'dark']) {
    pageTest(`axe finds nothing, ${theme}`, { theme }, async (page) => {
        // Through the debugger: the page's own policy would not let it in.
        await page.evaluate(readFileSync(axe, 'utf8'));
        const check = async (what) => {
            const { violations } = await page.evaluate(() => window.axe.run());
            const found = violations.map(
                ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`,
            );
            assert.deepEqual(found, [], what);
        };
        for (const tab of TABS) {
            await page.click('#tab-' + tab);
            await settle(page);
            await check(tab);
        }
        await page.click('#tab-flame');
        for (const menu of ['view', 'export']) {
            await page.click(`#${menu}-open`);
            await check(`menu ${menu}`);
            await page.keyboard.press('Escape');
        }
        for (const color of ['kind', 'size', 'growth']) {
            await page.keyboard.press('m');
            await settle(page);
            await check(`colour by ${color}`);
        }
        await page.keyboard.press('m');
        await brush(page, 0.3, 0.6);
        await page.keyboard.press('/');
        await page.keyboard.type('load');
        await settle(page);
        await check('a search in a range');
        await page.click('#keep-hits');
        await settle(page);
        await check('a step');
        await page.focus('#flame');
        await page.keyboard.press('?');
        await settle(page);
        await check('help');
        await page.keyboard.press('Escape');
        assert.equal(await page.$eval('#help', (dialog) => dialog.open), false);
    });
}

test('without scripts there is a picture and a table', async () => {
    const page = await browser.newPage();
    await page.setJavaScriptEnabled(false);
    await page.goto('file://' + path);
    assert.equal(await textOf(page, 'h1'), 'Memory of train.py');
    const seen = await page.$eval('#static', (element) => ({
        boxes: element.querySelectorAll('svg rect').length,
        rows: element.querySelectorAll('tr').length,
        bytes: element.innerHTML.length,
    }));
    assert.ok(seen.boxes > 20, 'boxes are drawn');
    assert.equal(seen.rows, 21);
    assert.ok(seen.bytes < 60000, `${seen.bytes} bytes`);
    assert.equal(await (await page.$('#app')).boundingBox(), null);
    await page.close();
});

test('inside other pages, under foreign policies, in a wrong encoding it is read still', async (context) => {
    const html = readFileSync(path, 'utf8');
    const quoted = html.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    const jenkins =
        "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self';";
    const server = createServer((request, response) => {
        response.setHeader('content-type', 'text/html; charset=iso-8859-1');
        if (request.url === '/jenkins') response.setHeader('content-security-policy', jenkins);
        const frame = `<!doctype html><iframe sandbox="allow-scripts" width="1000" height="600" srcdoc="${quoted}"></iframe>`;
        response.end(request.url === '/notebook' ? frame : html);
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    context.after(() => {
        server.closeAllConnections();
        server.close();
    });
    const origin = `http://127.0.0.1:${server.address().port}`;
    const page = await browser.newPage();
    const thrown = [];
    page.on('pageerror', (error) => thrown.push(String(error)));
    await page.goto(origin + '/jenkins');
    assert.equal((await page.$$('#static tr')).length, 21);
    await page.goto(origin + '/notebook');
    const frame = await (await page.$('iframe')).contentFrame();
    await frame.waitForSelector('html[data-ready]');
    assert.equal(await frame.$eval('#program', (element) => element.textContent), 'train.py');
    await frame.click('[data-mode=leaks]');
    await frame.click('#theme');
    await frame.waitForFunction(() => /end/.test(document.getElementById('caption').textContent));
    assert.deepEqual(thrown, []);
    await page.close();
});

test('a capture of nothing has a page', async () => {
    const { page, faults } = await openPage(browser, process.env.MEMTRACK_EMPTY_PAGE);
    assert.match(await textOf(page, '#caption'), /^0 B the program allocated nothing/);
    for (const mode of ['leaks', 'kept', 'allocated', 'temporary'])
        await page.click(`[data-mode=${mode}]`);
    await page.click('#inverted');
    await brush(page, 0.2, 0.6);
    for (const tab of [...TABS, 'flame']) await page.click('#tab-' + tab);
    for (const key of 'fkhdcsulmyixp') await page.keyboard.press(key);
    await settle(page);
    assert.deepEqual(faults, []);
    await page.close();
});
