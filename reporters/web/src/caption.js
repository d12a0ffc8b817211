// @ts-check
// The sentence above the timeline: what the numbers on the page are, exactly.
import { byId, makeElement } from './dom.js';
import { formatBytes, formatCount, formatTime } from './format.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./aggregate.js').Query} Query */

/**
 * @param {Model} model
 * @param {Query} query
 * @param {{sample: number, isWhole: boolean}} costs
 */
function whatIsShown(model, query, costs) {
    const { time } = model.samples;
    const from = formatTime(query.from > 0 ? time[query.from] : 0);
    const isToEnd = query.to >= model.samples.count - 1;
    const to = formatTime(isToEnd ? model.meta.endNs : (time[query.to] ?? 0));
    if (query.mode === 'temporary') {
        if (model.meta.sampleBytes) return 'for a sample does not tell what was temporary';
        const threshold = model.meta.temporaryThreshold;
        const between = threshold === 1 ? 'one other' : `${formatCount(threshold)} others`;
        return `released before ${between} came in between, in the whole run`;
    }
    if (query.mode === 'peak') {
        const at = costs.sample >= 0 ? ` at ${formatTime(peakTime(model, costs))}` : '';
        return costs.isWhole
            ? `live at the peak${at}`
            : `live at the highest moment of the range${at}`;
    }
    if (query.mode === 'leaks') {
        return costs.isWhole
            ? 'not released at the end'
            : `allocated from ${from} to ${to} and never released`;
    }
    if (query.mode === 'kept') {
        return costs.isWhole
            ? 'allocated and not released in the whole run'
            : `allocated from ${from} to ${to} and not released by then`;
    }
    return costs.isWhole
        ? 'allocated in the whole run'
        : `allocated from ${from} to ${to}; what was released within ${resolution(model)} is not in it`;
}

/**
 * The peak is known better than the sample that stands for it.
 * @param {Model} model
 * @param {{sample: number, isWhole: boolean}} costs
 */
function peakTime(model, costs) {
    return costs.isWhole ? model.meta.totals.peakTime : model.samples.time[costs.sample];
}

/** @param {Model} model @returns {string} how far the samples are apart */
function resolution(model) {
    return formatTime(model.meta.endNs / Math.max(1, model.samples.count));
}

/**
 * What there is to say of an estimate; its standard error is known for the whole run alone.
 * @param {Model} model
 * @param {Query} query
 * @param {{sample: number, isWhole: boolean}} costs
 */
function howSure(model, query, costs) {
    const { sampleBytes, sampledFromNs, standardErrors } = model.meta;
    const view = ['peak', 'leaks', 'allocated'].indexOf(query.mode);
    const error = costs.isWhole && view >= 0 ? ` \u00b1${formatBytes(standardErrors[view])}` : '';
    const since = sampledFromNs ? ` at last, after ${formatTime(sampledFromNs)} of all` : '';
    return `an estimate${error} from one block in ${formatBytes(sampleBytes)}${since}`;
}

/**
 * @typedef {object} Sums
 * @property {number} bytes of the boxes
 * @property {number} allocations of the boxes
 * @property {boolean} isFiltered some rows are left out
 */

/**
 * @param {Model} model
 * @param {Query} query
 * @param {{sample: number, isWhole: boolean}} costs
 * @param {Sums} sums
 * @returns {{size: string, rest: string}}
 */
export function makeCaption(model, query, costs, { bytes, allocations, isFiltered }) {
    if (model.meta.totals.allocations === 0) {
        return { size: formatBytes(0), rest: 'the program allocated nothing' };
    }
    const noun =
        query.mode === 'allocated' || query.mode === 'temporary' ? 'allocations' : 'blocks';
    const { minSize, sampleBytes } = model.meta;
    const { heap, blocks } = model.samples;
    const estimated = sampleBytes ? `; ${howSure(model, query, costs)}` : '';
    const leftOut = minSize ? `; blocks smaller than ${formatBytes(minSize)} are left out` : '';
    const isMoment = costs.sample >= 0 && !costs.isWhole;
    // The heap's own curve is exact, whatever was folded or joined.
    const isExact = isMoment && !isFiltered;
    const shown = isExact ? heap[costs.sample] : bytes;
    const count = isExact ? blocks[costs.sample] : allocations;
    const all = costs.isWhole ? model.meta.totals.peakBytes : heap[costs.sample];
    const part = isFiltered && costs.sample >= 0 ? `of ${formatBytes(all)} ` : '';
    const near =
        isExact && Math.abs(bytes - shown) > shown * 0.0005
            ? `; the boxes add up to ${formatBytes(bytes)}, as nearby blocks are joined (Info)`
            : '';
    const what = `${part}in ${formatCount(count)} ${noun}, ${whatIsShown(model, query, costs)}`;
    return { size: formatBytes(shown), rest: `${what}${near}${estimated}${leftOut}` };
}

/** Write it where it stands. @param {import('./app.js').App} app */
export function showCaption({ model, state, rows, costs, isFiltered }) {
    const { size, rest } = makeCaption(model, state, rows, {
        bytes: costs.totalBytes[0],
        allocations: costs.totalAllocations[0],
        isFiltered: Boolean(isFiltered),
    });
    byId('caption').replaceChildren(makeElement('strong', {}, size), ' ' + rest);
    byId('caption').title = `${size} ${rest}`;
}
