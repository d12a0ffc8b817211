// @ts-check
// What the colours mean. Where an entry is a button, it shows that alone, and everything again.
import { FAMILIES } from './aggregate.js';
import { GROWTH_STEPS, SIZE_STEPS } from './color.js';
import { byId, makeElement } from './dom.js';
import { formatSteps } from './steps.js';
import { KINDS, KIND_SPECIAL, ORIGINS } from './names.js';

/** @typedef {import('./app.js').App} App */

/** The legend's packages and native modules: more are not told apart by their colours, smaller ones not seen. */
const NAMED_GROUPS = 4;
const NAMED_AREA = 0.02;

/** @param {string} color */
function swatch(color) {
    const made = makeElement('span', { class: 'swatch' });
    made.style.background = color;
    return made;
}

/**
 * @param {string} name its class
 * @param {'borderColor' | 'borderBottomColor'} property
 * @param {string} color
 */
function lineSwatch(name, property, color) {
    const made = makeElement('span', { class: `swatch ${name}` });
    made.style[property] = color;
    return made;
}

/** Of the curves. @param {App} app */
function fillCurves(app) {
    const { palette } = app;
    const legend = byId('legend');
    legend.replaceChildren();
    for (const family of [...app.families()].sort()) {
        legend.append(swatch(palette.families[family]), FAMILIES[family]);
    }
    const { totals, failed } = app.model.meta;
    if (totals.peakRss) legend.append(lineSwatch('dash', 'borderColor', palette.rss), 'RSS');
    if (app.timeline.limits().length > 0) {
        legend.append(lineSwatch('limit', 'borderColor', palette.limit), 'limit');
    }
    if (failed.length > 0) {
        legend.append(lineSwatch('failed', 'borderBottomColor', palette.hot), 'failed');
    }
}

/**
 * @param {App} app
 * @param {string} color
 * @param {string} name
 * @param {string} [target] of a step; none: it is not a button
 */
function addEntry(app, color, name, target = '') {
    const { steps } = app.state;
    const isChosen = steps.some((step) => step.kind === 'keep' && step.target === target);
    const entry = makeElement(target ? 'button' : 'span', { class: 'entry' }, swatch(color), name);
    if (target) {
        entry.setAttribute('aria-pressed', String(isChosen));
        entry.title = `Only stacks through ${name}`;
        entry.addEventListener('click', () =>
            app.change({
                steps: isChosen
                    ? steps.filter((step) => step.target !== target)
                    : [...steps, { kind: 'keep', target }],
            }),
        );
    }
    byId('origins').append(entry);
}

/** @param {App} app */
function addOrigins(app) {
    const { palette } = app;
    const origins = app.names.origins();
    ORIGINS.forEach((name, origin) => {
        if (!origins.has(origin)) return;
        const groups = palette.groups[origin];
        if (!groups) return addEntry(app, palette.originColor(origin), name, `o${origin}`);
        const named = groups.filter(({ area }) => area >= NAMED_AREA);
        const count = Math.min(named.length, NAMED_GROUPS);
        for (let rank = 0; rank < count; rank++) {
            const { name: group } = named[rank];
            addEntry(app, palette.originColor(origin, rank), group, `o${origin}/${group}`);
        }
        if (groups.length > count) {
            const rest = count > 0 ? `other ${name}` : name;
            addEntry(app, palette.originColor(origin, count), rest);
        }
    });
}

/** @param {App} app */
function addKinds(app) {
    const { kind } = app.model.frames;
    for (let number = 0; number < KIND_SPECIAL; number++) {
        if (!kind.subarray(0, app.names.recorded).includes(number)) continue;
        addEntry(app, app.palette.kindColor(number), KINDS[number], `k${number}`);
    }
    if (app.hasRuntime) addEntry(app, app.palette.kindColor(-1), 'runtime');
}

/** @param {App} app */
function addScale(app) {
    const { palette, state } = app;
    const percent = (/** @type {number} */ share) => `${100 * share}%`;
    if (state.colorBy === 'size') {
        addEntry(app, palette.sizes[0], `below ${percent(SIZE_STEPS[0])}`);
        SIZE_STEPS.forEach((share, i) =>
            addEntry(app, palette.sizes[i + 1], `from ${percent(share)}`),
        );
        return;
    }
    addEntry(app, palette.shrunk[2], 'less at the end of the range');
    addEntry(app, palette.same, `within ${percent(GROWTH_STEPS[0])}`);
    addEntry(app, palette.grown[2], 'more');
}

/** What they were written for last. */
let written = '';

/** Write both legends anew, where they have changed. @param {App} app */
export function fillLegends(app) {
    const { colorBy, steps } = app.state;
    const wanted = `${app.isDark} ${colorBy} ${formatSteps(steps)}`;
    if (wanted === written) return;
    written = wanted;
    fillCurves(app);
    byId('origins').replaceChildren();
    if (colorBy === 'module') addOrigins(app);
    else if (colorBy === 'kind') addKinds(app);
    else addScale(app);
}
