// @ts-check
// Buttons and fields: each asks the app for one change.
import { addStep, copyStack, toggle } from './actions.js';
import { byId, makeElement } from './dom.js';
import { connectExport } from './export.js';
import { formatTime } from './format.js';
import { GROUPINGS } from './groups.js';
import { connectFilters, fillHeader, reflectFilters } from './header.js';
import { fillHelp } from './help.js';
import { connectKeys } from './keys.js';
import { fillLegends } from './legend.js';
import { connectMenu } from './menu.js';
import { COLORS, LABELS, TABS } from './state.js';
import { STEPS, formatSteps, targetTitle } from './steps.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./steps.js').StepKind} StepKind */

/** The switches of the menu, by the element's id. */
/** @type {Record<string, 'showsRuntime' | 'hidesNative' | 'foldsRecursion' | 'isUpward'>} */
const SWITCHES = {
    runtime: 'showsRuntime',
    native: 'hidesNative',
    recursion: 'foldsRecursion',
    upward: 'isUpward',
};

/** @param {App} app */
function connectSegments(app) {
    for (const button of byId('modes').children) {
        button.addEventListener('click', () => app.change({ mode: button.dataset.mode }));
    }
    for (const button of byId('metrics').children) {
        button.addEventListener('click', () => app.change({ metric: button.dataset.metric }));
    }
    byId('inverted').addEventListener('click', () => toggle(app, 'isInverted'));
    byId('zoom-out').addEventListener('click', () => app.zoom(0));
    byId('range').addEventListener('click', () =>
        app.timeline.choose(0, app.timeline.last(), true),
    );
    byId('to-peak').addEventListener('click', () => {
        app.change({ mode: 'peak' });
        app.timeline.choose(0, app.timeline.last(), true);
    });
    byId('axis').addEventListener('click', () =>
        app.change({ axis: app.state.axis === 'time' ? 'allocations' : 'time' }),
    );
    byId('axis').hidden = !app.timeline.hasAllocations();
    for (const kind of /** @type {StepKind[]} */ (Object.keys(STEPS))) {
        byId('act-' + kind).title = STEPS[kind].hint;
        byId('act-' + kind).addEventListener('click', () => addStep(app, kind));
    }
    byId('act-callers').addEventListener('click', () =>
        app.showFunction(app.tree.frame[app.flame.selected]),
    );
    byId('act-copy').addEventListener('click', () => copyStack(app));
}

/**
 * @param {string} id
 * @param {{value: string, title: string}[]} options
 * @param {(value: string) => void} choose
 */
function fillChoice(id, options, choose) {
    const select = byId(id);
    for (const { value, title } of options) {
        select.append(makeElement('option', { value }, title));
    }
    select.addEventListener('change', () => choose(select.value));
}

/** @param {App} app */
function connectViewMenu(app) {
    connectMenu('view-open', 'view-menu');
    for (const [id, key] of Object.entries(SWITCHES)) {
        byId(id).addEventListener('change', () => toggle(app, key));
    }
    byId('runtime-line').hidden = !app.hasRuntime;
    byId('native-line').hidden = !app.hasNative;
    byId('recursion-line').hidden = !app.hasRecursion;
    fillChoice(
        'group-by',
        GROUPINGS.map(({ by, title }) => ({ value: by, title })),
        (groupBy) => app.change({ groupBy: /** @type {any} */ (groupBy) }),
    );
    fillChoice(
        'color-by',
        COLORS.map((value) => ({ value, title: value })),
        (colorBy) => app.change({ colorBy: /** @type {any} */ (colorBy) }),
    );
    fillChoice(
        'label-by',
        LABELS.map((value) => ({ value, title: value === 'source' ? 'source line' : value })),
        (label) => app.change({ label }),
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
    byId('regex').addEventListener('click', () => toggle(app, 'isRegex'));
    byId('next-hit').addEventListener('click', () => app.goToMatch(1));
    byId('previous-hit').addEventListener('click', () => app.goToMatch(-1));
    for (const kind of /** @type {StepKind[]} */ (['keep', 'remove'])) {
        byId(kind + '-hits').addEventListener('click', () => {
            const target = (app.state.isRegex ? 'r' : 't') + app.state.query;
            query.value = '';
            app.change({ query: '', steps: [...app.state.steps, { kind, target }] });
        });
    }
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

/** The steps as chips: a click takes one back. @param {App} app */
function showSteps(app) {
    const { steps } = app.state;
    const line = byId('steps');
    const text = formatSteps(steps);
    if (line.dataset.steps === text) return;
    line.dataset.steps = text;
    line.hidden = steps.length === 0;
    line.replaceChildren(
        ...steps.map(({ kind, target }, i) => {
            const title = targetTitle(app.names, target);
            const button = makeElement(
                'button',
                { class: 'chip', title: 'Take this back' },
                `${STEPS[kind].title} ${title}  ✕`,
            );
            button.addEventListener('click', () =>
                app.change({ steps: app.state.steps.filter((_, at) => at !== i) }),
            );
            return button;
        }),
    );
    if (steps.length > 1) {
        const all = makeElement('button', { class: 'toggle' }, 'Take all back');
        all.addEventListener('click', () => app.change({ steps: [] }));
        line.append(all);
    }
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
    press(byId('regex'), state.isRegex);
    for (const [id, key] of Object.entries(SWITCHES)) byId(id).checked = state[key];
    byId('native').checked = !state.hidesNative;
    byId('group-by').value = state.groupBy;
    byId('color-by').value = state.colorBy;
    byId('label-by').value = state.label;
    byId('axis').textContent = `Axis: ${state.axis}`;
    byId('to-peak').hidden = state.mode === 'peak' && timeline.isWhole();
    byId('zoom-out').hidden = flame.zoomed === 0;
    const { time } = model.samples;
    byId('range').hidden = timeline.isWhole();
    byId('range').textContent = timeline.isWhole()
        ? ''
        : `${formatTime(time[state.from])} to ${formatTime(time[state.to])}  ✕`;
    reflectFilters(app);
    showSteps(app);
    fillLegends(app);
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
    };
    const repaint = () => {
        fillLegends(app);
        app.redraw();
    };
    apply();
    media.addEventListener('change', () => {
        apply();
        repaint();
    });
    byId('theme').addEventListener('click', () => {
        app.paint(!app.isDark);
        try {
            localStorage.setItem('memtrack-theme', app.isDark ? 'dark' : 'light');
        } catch {
            // Not kept then: a page inside another page may have no storage.
        }
        repaint();
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
    connectViewMenu(app);
    connectExport(app);
    connectFilters(app);
    connectSearch(app);
    connectTabs(app);
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
