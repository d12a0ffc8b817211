// The page of every capture that the tests of the reports know, strange, cut and empty ones too: each
// view of it draws, at both ends of what windows are like, and nothing goes wrong.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { TABS } from '../../src/state.js';
import { openPage, settle, startBrowser } from './browser.js';

const { MEMTRACK_BINARY: binary, MEMTRACK_DATA: data, MEMTRACK_FOLDER: folder } = process.env;
const captures = data ? readdirSync(data).filter((name) => name.endsWith('.bin')) : [];
let browser;
let stop;

before(async () => {
    ({ browser, stop } = await startBrowser());
});
after(() => stop());

for (const [number, capture] of captures.sort().entries()) {
    test(`the page of ${capture}`, async (context) => {
        const path = join(folder, `${basename(capture, '.bin')}.html`);
        try {
            execFileSync(binary, ['flamegraph', '-q', '-f', '-o', path, join(data, capture)], {
                stdio: 'ignore',
            });
        } catch (error) {
            // 3: it is damaged, and the page shows what is right.
            assert.equal(error.status, 3);
        }
        const size = number % 2 === 0 ? {} : { width: 760, height: 600, theme: 'dark' };
        const { page, faults } = await openPage(browser, path, size);
        context.after(() => page.close());
        assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), 'true');
        for (const tab of TABS) {
            await page.click('#tab-' + tab);
            await settle(page);
        }
        await page.keyboard.press('g');
        await page.focus('#flame');
        for (const key of ['ArrowDown', 'ArrowDown', ...'fkiuymrx12345']) {
            await page.keyboard.press(key);
            await settle(page);
        }
        assert.deepEqual(faults, []);
    });
}
