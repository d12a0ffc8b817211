// @ts-check
// What buttons and keys alike ask the app for.
import { stackText } from './details.js';
import { byId } from './dom.js';

/** @typedef {import('./app.js').App} App */

/**
 * @param {App} app
 * @param {'isInverted' | 'isUpward' | 'showsRuntime' | 'hidesNative' | 'foldsRecursion' | 'isRegex'} key
 */
export function toggle(app, key) {
    app.change({ [key]: !app.state[key] });
}

/**
 * Add a step for the function that is selected; of its module, to make that one box.
 * @param {App} app
 * @param {import('./steps.js').StepKind} kind
 */
export function addStep(app, kind) {
    const frame = app.tree.frame[app.flame.selected];
    const { names, state } = app;
    if (frame < 0 || frame >= names.recorded) {
        byId('speak').textContent = 'select a function first';
        return;
    }
    const module = names.moduleOf(frame);
    if (kind === 'collapse' && module === '') return;
    const target = kind === 'collapse' ? 'm' + module : 'f' + names.keyOf(frame);
    app.change({ steps: [...state.steps, { kind, target }] });
    byId('speak').textContent = `${kind} ${names.functionOf(frame)}`;
}

/**
 * Give a text to the clipboard, and say so.
 * @param {string} text
 * @param {string} what
 */
export function copyText(text, what) {
    const say = (/** @type {string} */ words) => (byId('speak').textContent = words);
    if (text === '' || !navigator.clipboard) return say('there is nothing to copy, or nowhere to');
    navigator.clipboard.writeText(text).then(
        () => say(`${what} copied`),
        () => say('the browser did not allow to copy'),
    );
    return '';
}

/** @param {App} app */
export function copyStack(app) {
    copyText(stackText(app.tree, app.names, app.flame.selected), 'stack');
}
