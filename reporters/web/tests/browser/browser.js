// A browser with one page open, which notes all that a page must not do.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const ARGUMENTS = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
];

/** Start a browser of a profile of its own. Returns it, and what ends it. */
export async function startBrowser() {
    const profile = mkdtempSync(join(tmpdir(), 'memtrack-browser-'));
    const browser = await puppeteer.launch({
        executablePath: process.env.MEMTRACK_BROWSER,
        headless: true,
        userDataDir: profile,
        args: ARGUMENTS,
    });
    const stop = async () => {
        await browser.close();
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    };
    return { browser, stop };
}

/**
 * Open a page file.
 * Returns the page, and faults: what the console said as an error, what was thrown, what was asked
 * of anywhere but the file.
 */
export async function openPage(
    browser,
    path,
    { link = '', width = 1440, height = 900, theme = 'light' } = {},
) {
    const page = await browser.newPage();
    const faults = [];
    const url = pathToFileURL(path).href;
    page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warn') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => {
        // What a page made itself is asked of nobody.
        if (request.url().startsWith('data:')) return;
        if (request.url().split('#')[0] !== url) faults.push('request: ' + request.url());
    });
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
    await page.goto(url + link);
    await page.waitForSelector('html[data-ready]', { timeout: 30000 });
    await settle(page);
    return { page, faults };
}

/** Wait until what was asked for has been drawn. */
export async function settle(page) {
    await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
}

export async function textOf(page, selector) {
    return page.$eval(selector, (element) => element.textContent);
}

/** The place of an element in the window. */
export async function boxOf(page, selector) {
    const element = await page.$(selector);
    return element.boundingBox();
}

/** Drag over the timeline, from one part of its width to another. */
export async function brush(page, from, to) {
    const { x, y, width, height } = await boxOf(page, '#timeline');
    await page.mouse.move(x + width * from, y + height / 3);
    await page.mouse.down();
    await page.mouse.move(x + (width * (from + to)) / 2, y + height / 3);
    await page.mouse.move(x + width * to, y + height / 3);
    await page.mouse.up();
    await settle(page);
}

/** Click into the flame graph: a part of its width, a row from the top. */
export async function clickFlame(page, part, row) {
    const { x, y, width } = await boxOf(page, '#flame');
    await page.mouse.click(x + width * part, y + row * 20 + 10);
    await settle(page);
}
