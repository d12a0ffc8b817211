// @ts-check
// What each row holds in a view of a range of time: one scan over rows or intervals.
import { NOWHERE } from './forest.js';
import { VIEW_ALLOCATED, VIEW_LEAKS, VIEW_PEAK, VIEW_TEMPORARY } from './model.js';

/** @typedef {import('./model.js').Model} Model */

/**
 * @typedef {'peak' | 'leaks' | 'kept' | 'allocated' | 'temporary'} Mode
 *
 * @typedef {object} Query
 * @property {Mode} mode
 * @property {number} from first sample of the range
 * @property {number} to last sample of the range
 *
 * @typedef {object} RowCosts
 * @property {Float64Array} bytes by row; rows that the query leaves out are 0
 * @property {Float64Array} allocations
 * @property {number} sample the one that the costs are of, or -1 when they are of more than one
 * @property {boolean} isWhole the numbers are of the whole run, whatever the range
 */

/**
 * @param {Model} model
 * @param {number} from
 * @param {number} to
 * @returns {number} the sample in the range at which the heap is highest
 */
export function peakSample(model, from, to) {
    const { heap } = model.samples;
    let highest = from;
    for (let i = from + 1; i <= to; i++) if (heap[i] > heap[highest]) highest = i;
    return highest;
}

/**
 * @param {Model} model
 * @param {Query} query
 */
function isWholeRun(model, query) {
    return query.from <= 0 && query.to >= model.samples.count - 1;
}

/**
 * Sum what came from a first to a last sample and was still there at another one.
 * @param {Model} model
 * @param {number} first
 * @param {number} last
 * @param {number} at -1: whether it was is no matter
 * @returns {{bytes: Float64Array, allocations: Float64Array}}
 */
function sumIntervals(model, first, last, at) {
    const { count, row, from, to, bytes, allocations } = model.intervals;
    const rowBytes = new Float64Array(model.rows.count);
    const rowAllocations = new Float64Array(model.rows.count);
    for (let i = 0; i < count; i++) {
        if (to[i] <= at || from[i] < first || from[i] > last) continue;
        rowBytes[row[i]] += bytes[i];
        rowAllocations[row[i]] += allocations[i];
    }
    return { bytes: rowBytes, allocations: rowAllocations };
}

/**
 * The numbers of the whole run are the recorded ones, exact whatever was folded or merged.
 * @param {Model} model
 * @param {number} view
 */
function wholeRun(model, view) {
    return {
        bytes: model.rows.bytes[view].slice(),
        allocations: model.rows.allocations[view].slice(),
    };
}

/**
 * @param {Model} model
 * @param {Query} query
 */
function sumRange(model, query) {
    const { from: first, to: last } = query;
    // What came or went behind the last sample belongs to the range that reaches the end.
    const end = model.samples.count;
    const stop = last >= end - 1 ? end : last;
    if (query.mode === 'peak') {
        const at = peakSample(model, first, last);
        return sumIntervals(model, 0, at, at);
    }
    if (query.mode === 'leaks') {
        return sumIntervals(model, first, stop, end);
    }
    if (query.mode === 'kept') {
        return sumIntervals(model, first, stop, stop);
    }
    return sumIntervals(model, first, stop, -1);
}

/**
 * Which rows a filter leaves.
 * @param {Model} model
 * @param {{thread: number, process: number, allocator: number}} filter -1: all
 * @param {Uint32Array} site rows that are nowhere are left out too
 * @returns {Uint8Array} by row
 */
export function filterRows({ rows, meta }, filter, site) {
    const mask = new Uint8Array(rows.count);
    const { thread, process, allocator } = filter;
    for (let i = 0; i < rows.count; i++) {
        mask[i] =
            (thread < 0 || rows.thread[i] === thread) &&
            (allocator < 0 || rows.allocator[i] === allocator) &&
            (process < 0 || meta.threads[rows.thread[i] - 1]?.process === process) &&
            site[i] !== NOWHERE
                ? 1
                : 0;
    }
    return mask;
}

/**
 * Live bytes of each row at one sample.
 * @param {Model} model
 * @param {number} at
 */
export function liveRows(model, at) {
    return sumIntervals(model, 0, at, at).bytes;
}

/**
 * @param {Model} model
 * @param {Query} query
 * @param {Uint8Array | null} [mask] by row; others are left out
 * @returns {RowCosts}
 */
export function sumRows(model, query, mask = null) {
    const views = {
        peak: VIEW_PEAK,
        leaks: VIEW_LEAKS,
        kept: VIEW_LEAKS,
        allocated: VIEW_ALLOCATED,
        temporary: VIEW_TEMPORARY,
    };
    const isWhole = isWholeRun(model, query) || query.mode === 'temporary';
    const costs = isWhole ? wholeRun(model, views[query.mode]) : sumRange(model, query);
    for (let i = 0; mask && i < mask.length; i++) {
        if (mask[i] === 0) costs.bytes[i] = costs.allocations[i] = 0;
    }
    let sample = -1;
    if (query.mode === 'peak' && model.samples.count > 0) {
        sample = isWhole ? model.meta.peakSample : peakSample(model, query.from, query.to);
    }
    return { ...costs, sample, isWhole };
}

/** Families of allocators, in the order they are stacked in the timeline. */
export const FAMILIES = ['malloc', 'pymalloc', 'mmap'];

/**
 * @param {number} allocator as docs/format.md numbers them
 * @returns {number} index in FAMILIES
 */
export function familyOf(allocator) {
    if (allocator >= 32 && allocator < 48) return 1;
    return allocator >= 16 && allocator < 32 ? 2 : 0;
}

/**
 * Live bytes of each family at each sample.
 * @param {Model} model
 * @param {Uint8Array | null} mask by row; others are left out
 * @returns {Float64Array[]} by family, by sample
 */
export function familyCurves(model, mask) {
    const { count } = model.samples;
    const { rows, intervals } = model;
    const curves = FAMILIES.map(() => new Float64Array(count + 2));
    for (let i = 0; i < intervals.count; i++) {
        const row = intervals.row[i];
        if (mask && mask[row] === 0) continue;
        const curve = curves[familyOf(rows.allocator[row])];
        curve[intervals.from[i]] += intervals.bytes[i];
        curve[intervals.to[i]] -= intervals.bytes[i];
    }
    for (const curve of curves) {
        for (let i = 1; i < count; i++) curve[i] += curve[i - 1];
    }
    return curves.map((curve) => curve.subarray(0, count));
}
