// @ts-check
// What the page shows, as its address keeps it.
import { parseLink } from './permalink.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./aggregate.js').Mode} Mode */

/** @type {Mode[]} */
export const MODES = ['peak', 'leaks', 'kept', 'allocated', 'temporary'];
export const TABS = ['flame', 'table', 'info'];
export const LABELS = ['function', 'place', 'source'];

/**
 * @typedef {object} State
 * @property {Mode} mode
 * @property {'bytes' | 'count'} metric
 * @property {number} from sample
 * @property {number} to sample
 * @property {number} thread as rows have it; -1: all
 * @property {number} allocator as rows have it; -1: all
 * @property {boolean} isInverted
 * @property {boolean} showsRuntime
 * @property {boolean} foldsRecursion
 * @property {string} tab
 * @property {string} query
 * @property {boolean} isRegex
 * @property {string} label
 */

/**
 * @param {Model} model
 * @param {string} link the address behind the #
 * @returns {{state: State, node: string}} node: hash of the one that is zoomed to
 */
export function readState(model, link) {
    const fields = parseLink(link);
    const { meta } = model;
    const last = Math.max(0, model.samples.count - 1);
    const range = /^(\d+)-(\d+)$/.exec(fields.t ?? '');
    const pick = (
        /** @type {string[]} */ known,
        /** @type {string} */ value,
        /** @type {string} */ other,
    ) => (known.includes(value) ? value : other);
    const number = (/** @type {string | undefined} */ text) =>
        /^\d+$/.test(text ?? '') ? Number(text) : -1;
    /** @type {State} */
    const state = {
        mode: /** @type {Mode} */ (pick(MODES, fields.m, meta.view)),
        metric: fields.u === 'count' ? 'count' : 'bytes',
        from: Math.min(range ? Number(range[1]) : meta.from, last),
        to: Math.min(range ? Number(range[2]) : meta.to, last),
        thread: number(fields.thread),
        allocator: number(fields.allocator),
        isInverted: fields.i ? fields.i === '1' : meta.inverted,
        showsRuntime: fields.r ? fields.r === '1' : meta.showsRuntime,
        foldsRecursion: fields.c === '1',
        tab: pick(TABS, fields.v, 'flame'),
        query: fields.q ?? '',
        isRegex: fields.re === '1',
        label: pick(LABELS, fields.l, 'function'),
    };
    if (state.from > state.to) [state.from, state.to] = [0, last];
    return { state, node: fields.n ?? '' };
}

/**
 * @param {Model} model
 * @param {State} state
 * @param {string} node
 * @returns {Record<string, string>} fields of the address; what is as it was at first is left out
 */
export function stateFields(model, state, node) {
    const { meta } = model;
    const isFirst = state.from === meta.from && state.to === meta.to;
    const flag = (/** @type {boolean} */ is, /** @type {boolean} */ first) =>
        is === first ? '' : is ? '1' : '0';
    return {
        v: state.tab === 'flame' ? '' : state.tab,
        m: state.mode === meta.view ? '' : state.mode,
        u: state.metric === 'bytes' ? '' : state.metric,
        t: isFirst ? '' : `${state.from}-${state.to}`,
        thread: state.thread < 0 ? '' : String(state.thread),
        allocator: state.allocator < 0 ? '' : String(state.allocator),
        i: flag(state.isInverted, meta.inverted),
        r: flag(state.showsRuntime, meta.showsRuntime),
        c: flag(state.foldsRecursion, false),
        l: state.label === 'function' ? '' : state.label,
        q: state.query,
        re: state.isRegex ? '1' : '',
        n: node,
    };
}
