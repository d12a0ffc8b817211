// @ts-check
// Steps that change what is shown: each names functions, a module or a pattern, and what to do with
// their frames. They are kept in order, in the page's address too, and any of them can be taken back.
import { collapse, focusOn, keepStacks, leaveOut, removeStacks } from './forest.js';
import { KINDS, ORIGINS } from './names.js';
import { makeMatcher, matchFrames } from './search.js';

/** @typedef {import('./names.js').Names} Names */
/** @typedef {import('./forest.js').Forest} Forest */
/** @typedef {'focus' | 'keep' | 'hide' | 'remove' | 'collapse'} StepKind */

/**
 * @typedef {object} Step
 * @property {StepKind} kind
 * @property {string} target a letter for its sort, then its name: f: function, by Names.keyOf(); m:
 *     module; o: origin, by number, and a package of it; k: kind of frames; t: text; r: pattern
 */

/** @type {Record<StepKind, {title: string, hint: string}>} */
export const STEPS = {
    focus: { title: 'focus on', hint: 'Only what it and its callees allocated (f)' },
    keep: { title: 'only through', hint: 'Only stacks that go through it (k)' },
    hide: { title: 'hide', hint: 'No box of its own: its memory is its callers’ (h)' },
    remove: { title: 'remove', hint: 'Without all stacks that go through it (d)' },
    collapse: { title: 'one box for', hint: 'All of the module in one box (c)' },
};

/** @param {Step[]} steps @returns {string} as links have them */
export function formatSteps(steps) {
    return steps.map(({ kind, target }) => `${kind}.${encodeURIComponent(target)}`).join(',');
}

/** @param {string} text @returns {Step[]} */
export function parseSteps(text) {
    const steps = [];
    for (const part of text.split(',')) {
        const [kind, target = ''] = part.split(/\.(.*)/s);
        if (!Object.hasOwn(STEPS, kind)) continue;
        try {
            steps.push({
                kind: /** @type {StepKind} */ (kind),
                target: decodeURIComponent(target),
            });
        } catch {
            // A link that somebody cut in the middle: the steps before still count.
        }
    }
    return steps;
}

/**
 * @param {Names} names
 * @param {string} target
 * @returns {(frame: number) => boolean}
 */
function targetTest(names, target) {
    const name = target.slice(1);
    const { kind } = names.model.frames;
    switch (target[0]) {
        case 'f':
            return (frame) => names.keyOf(frame) === name;
        case 'm':
            return (frame) => names.moduleOf(frame) === name;
        case 'k':
            return (frame) => kind[frame] === Number(name);
        case 'o': {
            const [, origin, group] = /^(\d+)(?:\/(.*))?$/.exec(name) ?? ['', '-1', ''];
            return (frame) => {
                const found = names.originOf(frame);
                return found.origin === Number(origin) && (!group || found.group === group);
            };
        }
        default:
            return () => false;
    }
}

/**
 * @param {Names} names
 * @param {string} target
 * @returns {Uint8Array} by frame
 */
export function targetMask(names, target) {
    const mask = new Uint8Array(names.model.frames.count);
    if (target[0] === 't' || target[0] === 'r') {
        const { test } = makeMatcher(target.slice(1), target[0] === 'r');
        return test ? matchFrames(names, test) : mask;
    }
    const test = targetTest(names, target);
    for (let frame = 0; frame < names.recorded; frame++) mask[frame] = test(frame) ? 1 : 0;
    return mask;
}

/**
 * @param {Names} names
 * @param {string} target
 * @returns {string} what people call it
 */
export function targetTitle(names, target) {
    const name = target.slice(1);
    if (target[0] === 'm') return name;
    if (target[0] === 'k') return KINDS[Number(name)] ?? name;
    if (target[0] === 'o') {
        const [origin, group] = name.split(/\/(.*)/s);
        return group || (ORIGINS[Number(origin)] ?? name);
    }
    if (target[0] === 't') return `“${name}”`;
    if (target[0] === 'r') return `/${name}/`;
    const frame = targetMask(names, target).indexOf(1);
    return frame < 0 ? 'what is not in this page' : names.titleOf(frame);
}

/**
 * @param {Forest} forest
 * @param {Step} step
 * @param {Names} names
 * @param {Map<string, number>} modules frames of modules' boxes
 * @returns {Forest}
 */
export function applyStep(forest, { kind, target }, names, modules) {
    const mask = targetMask(names, target);
    if (!mask.includes(1)) return forest;
    if (kind === 'focus') return focusOn(forest, mask);
    if (kind === 'keep') return keepStacks(forest, mask);
    if (kind === 'remove') return removeStacks(forest, mask);
    if (kind === 'hide') return leaveOut(forest, (_, frame) => mask[frame] === 1);
    const box = modules.get(target.slice(1));
    return box === undefined ? forest : collapse(forest, mask, box);
}
