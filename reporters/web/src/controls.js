// @ts-check
// Buttons, fields and keys: each asks the app for one change.
import { FAMILIES } from './aggregate.js';
import { byId, makeElement } from './dom.js';
import { fillHelp } from './help.js';
import { formatBytes, formatCount, formatTime } from './format.js';
import { threadName } from './info.js';
import { ORIGINS, ORIGIN_PACKAGE } from './names.js';
import { MODES, TABS } from './state.js';

/** @typedef {import('./app.js').App} App */

/** The legend's packages: more are not told apart by their colours, smaller ones not seen. */
const NAMED_PACKAGES = 4;
const NAMED_AREA = 0.02;

/** @param {App} app */
function fillHeader(app) {
    const { meta } = app.model;
    byId('program').textContent = meta.program;
    const facts = [
        meta.pid ? `pid ${meta.pid}` : '',
        meta.python ? `Python ${meta.python}` : '',
        formatTime(meta.endNs),
        `${formatCount(meta.totals.allocations)} allocations`,
        `peak ${formatBytes(meta.totals.peakBytes)}`,
        meta.totals.peakRss ? `RSS ${formatBytes(meta.totals.peakRss)}` : '',
    ];
    byId('facts').textContent = facts.filter(Boolean).join('  ·  ');
    const warnings = byId('warnings');
    const count = meta.warnings.length;
    warnings.hidden = count === 0;
    warnings.textContent = `${count} warning${count === 1 ? '' : 's'}`;
    warnings.title = meta.warnings.join('\n');
    warnings.addEventListener('click', () => app.openTab('info'));
}

/** @param {App} app */
function connectSegments(app) {
    for (const button of byId('modes').children) {
        button.addEventListener('click', () => app.change({ mode: button.dataset.mode }));
    }
    for (const button of byId('metrics').children) {
        button.addEventListener('click', () => app.change({ metric: button.dataset.metric }));
    }
    byId('inverted').addEventListener('click', () => toggleInverted(app));
    byId('runtime').addEventListener('click', () => {
        app.change({ showsRuntime: !app.state.showsRuntime });
    });
    byId('recursion').addEventListener('click', () => toggleRecursion(app));
    byId('zoom-out').addEventListener('click', () => app.zoom(0));
    byId('range').addEventListener('click', () =>
        app.timeline.choose(0, app.timeline.last(), true),
    );
}

/** @param {App} app */
function toggleInverted(app) {
    app.change({ isInverted: !app.state.isInverted });
}

/** @param {App} app */
function toggleRecursion(app) {
    app.change({ foldsRecursion: !app.state.foldsRecursion });
}

/** @param {App} app */
function toggleMetric(app) {
    app.change({ metric: app.state.metric === 'bytes' ? 'count' : 'bytes' });
}

/** @param {App} app */
function connectFilters(app) {
    const { meta } = app.model;
    const threads = byId('thread');
    threads.append(makeElement('option', { value: '-1' }, 'All threads'));
    meta.threads.forEach((/** @type {any} */ thread, /** @type {number} */ i) => {
        threads.append(makeElement('option', { value: String(i + 1) }, threadName(meta, thread)));
    });
    threads.hidden = meta.threads.length < 2;
    threads.addEventListener('change', () => app.change({ thread: Number(threads.value) }));
    const allocators = byId('allocator');
    allocators.append(makeElement('option', { value: '-1' }, 'All allocators'));
    for (const { number, name } of meta.allocators) {
        allocators.append(makeElement('option', { value: String(number) }, name));
    }
    allocators.hidden = meta.allocators.length < 2;
    allocators.addEventListener('change', () =>
        app.change({ allocator: Number(allocators.value) }),
    );
}

/** @param {App} app */
function connectSearch(app) {
    const query = byId('query');
    query.value = app.state.query;
    query.addEventListener('input', () => app.change({ query: query.value }));
    query.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'Enter') app.goToMatch(event.shiftKey ? -1 : 1);
        else if (event.key === 'Escape') {
            query.value = '';
            app.change({ query: '' });
            byId('flame').focus();
        } else return;
        event.preventDefault();
    });
    byId('regex').addEventListener('click', () => app.change({ isRegex: !app.state.isRegex }));
}

/** @param {App} app */
function connectTabs(app) {
    for (const name of TABS) {
        const tab = byId('tab-' + name);
        tab.addEventListener('click', () => app.openTab(name));
        tab.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            const next = TABS[(TABS.indexOf(name) + step + TABS.length) % TABS.length];
            app.openTab(next);
            byId('tab-' + next).focus();
            event.preventDefault();
        });
    }
}

/**
 * @param {App} app
 * @param {string} key
 * @returns {number} the node that an arrow key leads to, or -1
 */
function neighbour(app, key) {
    const { tree, layout, flame } = app;
    const node = flame.selected;
    const parent = tree.parent[node];
    if (key === 'ArrowUp') return parent;
    const isDown = key === 'ArrowDown';
    const above = isDown ? node : parent;
    if (above < 0) return -1;
    let before = -1;
    for (let at = above + 1; at < tree.end[above]; at = tree.end[at]) {
        if (layout.total[at] <= 0) continue;
        if (isDown) return at;
        if (key === 'ArrowLeft' && at === node) return before;
        if (key === 'ArrowRight' && at > node) return at;
        before = at;
    }
    return -1;
}

/** @param {App} app */
function connectFlameKeys(app) {
    byId('flame').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === 'c') app.copyStack();
        else if (event.ctrlKey || event.metaKey || event.altKey) return;
        else if (event.key.startsWith('Arrow')) {
            const node = neighbour(app, event.key);
            if (node >= 0) app.select(node);
        } else if (event.key === 'Enter') app.zoom(app.flame.selected);
        else return;
        event.preventDefault();
    });
    byId('timeline').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'ArrowLeft') app.timeline.shift(-1);
        else if (event.key === 'ArrowRight') app.timeline.shift(1);
        else if (event.key === '0') app.timeline.choose(0, app.timeline.last(), true);
        else return;
        event.preventDefault();
        event.stopPropagation();
    });
}

/**
 * @param {App} app
 * @returns {Record<string, () => void>} by key, wherever the focus is but in a field
 */
function pageKeys(app) {
    /** @type {Record<string, () => void>} */
    const keys = {
        '/': () => byId('query').focus(),
        '?': () => byId('help').showModal(),
        n: () => app.goToMatch(1),
        N: () => app.goToMatch(-1),
        i: () => toggleInverted(app),
        r: () => toggleRecursion(app),
        b: () => toggleMetric(app),
        l: () => app.nextLabel(),
        f: () => app.openTab('flame'),
        t: () => app.openTab('table'),
        '[': () => app.timeline.shift(-1),
        ']': () => app.timeline.shift(1),
        '+': () => app.timeline.scale(0.5),
        '=': () => app.timeline.scale(0.5),
        '-': () => app.timeline.scale(2),
        0: () => app.zoom(0),
        Escape: () => app.zoom(0),
    };
    MODES.forEach((mode, i) => (keys[i + 1] = () => app.change({ mode })));
    return keys;
}

/** @param {App} app */
function connectKeys(app) {
    const keys = pageKeys(app);
    document.addEventListener('keydown', (event) => {
        const target = /** @type {HTMLElement} */ (event.target);
        if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || byId('help').open) return;
        if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key))
            return;
        keys[event.key]();
        event.preventDefault();
    });
}

/** @param {App} app */
function fillLegends(app) {
    const swatch = (/** @type {string} */ color) => {
        const made = makeElement('span', { class: 'swatch' });
        made.style.background = color;
        return made;
    };
    const { palette } = app;
    const legend = byId('legend');
    legend.replaceChildren();
    for (const family of [...app.families()].sort()) {
        legend.append(swatch(palette.families[family]), FAMILIES[family]);
    }
    if (app.model.meta.totals.peakRss) {
        const dash = makeElement('span', { class: 'swatch dash' });
        dash.style.borderColor = palette.rss;
        legend.append(dash, 'RSS');
    }
    if (app.timeline.limits().length > 0) {
        const line = makeElement('span', { class: 'swatch limit' });
        line.style.borderColor = palette.limit;
        legend.append(line, 'limit');
    }
    if (app.model.meta.failed.length > 0) {
        const mark = makeElement('span', { class: 'swatch failed' });
        mark.style.borderBottomColor = palette.hot;
        legend.append(mark, 'failed');
    }
    byId('origins').replaceChildren();
    const add = (/** @type {string} */ color, /** @type {string} */ name) =>
        byId('origins').append(swatch(color), name);
    const origins = app.names.origins();
    ORIGINS.forEach((name, origin) => {
        if (!origins.has(origin)) return;
        if (origin !== ORIGIN_PACKAGE) return add(palette.originColor(origin), name);
        const named = palette.packages.filter(({ area }) => area >= NAMED_AREA);
        const count = Math.min(named.length, NAMED_PACKAGES);
        for (let rank = 0; rank < count; rank++) {
            add(palette.originColor(origin, rank), named[rank].name);
        }
        if (palette.packages.length > count) {
            add(palette.originColor(origin, count), count > 0 ? 'other packages' : 'packages');
        }
    });
}

/** Show the state on the controls. @param {App} app */
function reflect(app) {
    const { state, timeline, flame, model } = app;
    const press = (/** @type {any} */ button, /** @type {boolean} */ is) =>
        button.setAttribute('aria-pressed', String(is));
    for (const button of byId('modes').children) press(button, button.dataset.mode === state.mode);
    for (const button of byId('metrics').children)
        press(button, button.dataset.metric === state.metric);
    press(byId('inverted'), state.isInverted);
    press(byId('runtime'), state.showsRuntime);
    press(byId('recursion'), state.foldsRecursion);
    press(byId('regex'), state.isRegex);
    byId('thread').value = String(state.thread);
    byId('allocator').value = String(state.allocator);
    byId('zoom-out').hidden = flame.zoomed === 0;
    const { time } = model.samples;
    byId('range').hidden = timeline.isWhole();
    byId('range').textContent = timeline.isWhole()
        ? ''
        : `${formatTime(time[state.from])} to ${formatTime(time[state.to])}  ✕`;
}

/** @param {App} app */
function connectTheme(app) {
    const stored = () => {
        try {
            return localStorage.getItem('memtrack-theme');
        } catch {
            return null;
        }
    };
    const media = window.matchMedia('(prefers-color-scheme: dark)');
    const apply = () => {
        const choice = stored();
        app.paint(choice ? choice === 'dark' : media.matches);
        fillLegends(app);
    };
    apply();
    media.addEventListener('change', () => {
        apply();
        app.redraw();
    });
    byId('theme').addEventListener('click', () => {
        app.paint(!app.isDark);
        try {
            localStorage.setItem('memtrack-theme', app.isDark ? 'dark' : 'light');
        } catch {
            // Not kept then: a page inside another page may have no storage.
        }
        fillLegends(app);
        app.redraw();
    });
}

/**
 * Connect the page's controls with the app.
 * @param {App} app
 */
export function connectControls(app) {
    fillHeader(app);
    fillHelp(byId('help'));
    connectTheme(app);
    connectSegments(app);
    connectFilters(app);
    connectSearch(app);
    connectTabs(app);
    connectFlameKeys(app);
    connectKeys(app);
    byId('help-open').addEventListener('click', () => byId('help').showModal());
    app.watchers.push(() => reflect(app));
    let size = '';
    new ResizeObserver(() => {
        const now = `${window.innerWidth} ${window.innerHeight} ${window.devicePixelRatio}`;
        // The first call only says how large the page is at the start.
        if (size !== '' && size !== now) app.redraw();
        size = now;
    }).observe(byId('app'));
}
