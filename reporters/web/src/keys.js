// @ts-check
// What the keys do.
import { GROUPINGS } from './groups.js';
import { byId } from './dom.js';
import { addStep, copyStack, toggle } from './actions.js';
import { COLORS, MODES } from './state.js';

/** @typedef {import('./app.js').App} App */

/** @param {App} app */
function connectFlameKeys(app) {
    byId('flame').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key.startsWith('Arrow')) {
            const node = app.flame.neighbour(event.key);
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
 * @template T
 * @param {T[]} all
 * @param {T} one
 * @returns {T} the one behind it, the first behind the last
 */
function following(all, one) {
    return all[(all.indexOf(one) + 1) % all.length];
}

/**
 * @param {App} app
 * @returns {Record<string, () => void>} by key, wherever the focus is but in a field
 */
function pageKeys(app) {
    const { state } = app;
    const tab = (/** @type {string} */ name) => () => app.openTab(name);
    const groupings = GROUPINGS.map(({ by }) => by);
    /** @type {Record<string, () => void>} */
    const keys = {
        '/': () => byId('query').focus(),
        '?': () => byId('help').showModal(),
        n: () => app.goToMatch(1),
        N: () => app.goToMatch(-1),
        i: () => toggle(app, 'isInverted'),
        u: () => toggle(app, 'isUpward'),
        r: () => toggle(app, 'foldsRecursion'),
        b: () => app.change({ metric: state.metric === 'bytes' ? 'count' : 'bytes' }),
        l: () => app.nextLabel(),
        m: () => app.change({ colorBy: following(COLORS, state.colorBy) }),
        y: () => app.change({ groupBy: following(groupings, state.groupBy) }),
        x: () => byId('axis').click(),
        p: () => byId('to-peak').click(),
        f: () => addStep(app, 'focus'),
        k: () => addStep(app, 'keep'),
        h: () => addStep(app, 'hide'),
        d: () => addStep(app, 'remove'),
        c: () => addStep(app, 'collapse'),
        Backspace: () => app.change({ steps: state.steps.slice(0, -1) }),
        s: () => app.showFunction(app.tree.frame[app.flame.selected]),
        g: tab('flame'),
        t: tab('table'),
        e: tab('tree'),
        o: tab('source'),
        w: tab('groups'),
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
export function connectKeys(app) {
    const keys = pageKeys(app);
    connectFlameKeys(app);
    document.addEventListener('keydown', (event) => {
        const target = /** @type {HTMLElement} */ (event.target);
        if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || byId('help').open) return;
        const isCopy = (event.ctrlKey || event.metaKey) && event.key === 'c';
        if (isCopy && String(getSelection()) === '') copyStack(app);
        else if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key))
            return;
        else keys[event.key]();
        event.preventDefault();
    });
}
