// @ts-check
// What the page shows, as its address keeps it.
import { GROUPINGS } from './groups.js';
import { parseLink } from './permalink.js';
import { formatSteps, parseSteps } from './steps.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./aggregate.js').Mode} Mode */
/** @typedef {import('./steps.js').Step} Step */
/** @typedef {import('./groups.js').GroupBy} GroupBy */
/** @typedef {'module' | 'kind' | 'size' | 'growth'} ColorBy */

/** @type {Mode[]} */
export const MODES = ['peak', 'leaks', 'kept', 'allocated', 'temporary'];
export const TABS = ['flame', 'sandwich', 'table', 'tree', 'source', 'groups', 'info'];
export const LABELS = ['function', 'place', 'source'];
/** @type {ColorBy[]} */
export const COLORS = ['module', 'kind', 'size', 'growth'];

/**
 * @typedef {object} State
 * @property {Mode} mode
 * @property {'bytes' | 'count'} metric
 * @property {number} from sample
 * @property {number} to sample
 * @property {number} thread as rows have it; -1: all
 * @property {number} process index; -1: all
 * @property {number} allocator as rows have it; -1: all
 * @property {boolean} isInverted callers below what allocated
 * @property {boolean} isUpward the root is at the bottom
 * @property {boolean} showsRuntime
 * @property {boolean} hidesNative
 * @property {boolean} foldsRecursion
 * @property {GroupBy} groupBy
 * @property {Step[]} steps
 * @property {ColorBy} colorBy
 * @property {'time' | 'allocations'} axis
 * @property {string} tab
 * @property {string} target the function of the sandwich, by Names.keyOf()
 * @property {string} query
 * @property {boolean} isRegex
 * @property {string} label
 */

/**
 * @template {string} T
 * @param {T[]} known
 * @param {string} value
 * @param {T} other
 * @returns {T}
 */
function pick(known, value, other) {
    return known.includes(/** @type {T} */ (value)) ? /** @type {T} */ (value) : other;
}

/** @param {string | undefined} text @returns {number} -1 for none */
function readNumber(text) {
    return /^\d+$/.test(text ?? '') ? Number(text) : -1;
}

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
    /** @type {State} */
    const state = {
        mode: pick(MODES, fields.m, meta.view),
        metric: fields.u === 'count' ? 'count' : 'bytes',
        from: Math.min(range ? Number(range[1]) : meta.from, last),
        to: Math.min(range ? Number(range[2]) : meta.to, last),
        thread: readNumber(fields.thread),
        process: readNumber(fields.process),
        allocator: readNumber(fields.allocator),
        isInverted: fields.i ? fields.i === '1' : meta.inverted,
        isUpward: fields.up === '1',
        showsRuntime: fields.r ? fields.r === '1' : meta.showsRuntime,
        hidesNative: fields.native === '0',
        foldsRecursion: fields.c === '1',
        groupBy: pick(
            GROUPINGS.map(({ by }) => by),
            fields.g,
            '',
        ),
        steps: parseSteps(fields.x ?? ''),
        colorBy: pick(COLORS, fields.color, 'module'),
        axis: fields.axis === 'allocations' ? 'allocations' : 'time',
        tab: pick(TABS, fields.v, 'flame'),
        target: /^[0-9a-f]{8}$/.test(fields.f ?? '') ? fields.f : '',
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
    const unless = (/** @type {string} */ value, /** @type {string} */ first) =>
        value === first ? '' : value;
    const number = (/** @type {number} */ value) => (value < 0 ? '' : String(value));
    return {
        v: unless(state.tab, 'flame'),
        m: unless(state.mode, meta.view),
        u: unless(state.metric, 'bytes'),
        t: isFirst ? '' : `${state.from}-${state.to}`,
        thread: number(state.thread),
        process: number(state.process),
        allocator: number(state.allocator),
        i: flag(state.isInverted, meta.inverted),
        up: flag(state.isUpward, false),
        r: flag(state.showsRuntime, meta.showsRuntime),
        native: state.hidesNative ? '0' : '',
        c: flag(state.foldsRecursion, false),
        g: state.groupBy,
        x: formatSteps(state.steps),
        color: unless(state.colorBy, 'module'),
        axis: unless(state.axis, 'time'),
        l: unless(state.label, 'function'),
        f: state.tab === 'sandwich' ? state.target : '',
        q: state.query,
        re: state.isRegex ? '1' : '',
        n: node,
    };
}
