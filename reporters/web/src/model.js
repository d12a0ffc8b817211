// @ts-check
// The data of the page as the other modules use it: typed arrays, indexed from 0.
import { VarintReader, decodeBase64, unpackLz4 } from './decode.js';

/**
 * @typedef {object} Frames
 * @property {number} count
 * @property {Uint32Array} function numbers of strings
 * @property {Uint32Array} file numbers of strings
 * @property {Uint32Array} line 0: none
 * @property {Uint8Array} kind 0 Python, 1 native, 2 inlined, 3 special
 * @property {Uint8Array} isRuntime
 * @property {Uint32Array} module number of a string + 1; 0: none
 * @property {Uint32Array} source number of a string + 1; 0: none
 *
 * @typedef {object} Nodes preorder; node 0 is the root and has frame -1
 * @property {number} count
 * @property {Int32Array} parent the root's is -1
 * @property {Uint32Array} depth
 * @property {Int32Array} frame
 *
 * @typedef {object} Rows what one thread allocated through one allocator at one node
 * @property {number} count
 * @property {Uint32Array} node rising
 * @property {Uint32Array} thread
 * @property {Uint8Array} allocator
 * @property {Float64Array[]} bytes by view: peak, leaks, allocated, temporary
 * @property {Float64Array[]} allocations by view
 *
 * @typedef {object} Intervals blocks live from the sample `from` up to, without, the sample `to`
 * @property {number} count
 * @property {Uint32Array} row
 * @property {Uint16Array} from
 * @property {Uint16Array} to number of samples: released behind the last; one more: never
 * @property {Float64Array} bytes
 * @property {Float64Array} allocations
 *
 * @typedef {object} Samples
 * @property {number} count
 * @property {Float64Array} time nanoseconds
 * @property {Float64Array} heap bytes
 * @property {Float64Array} blocks
 * @property {Float64Array} rss bytes
 * @property {Float64Array} allocations up to each; 0 where that is not known
 *
 * @typedef {object} SourceFile
 * @property {Uint32Array} lines rising
 * @property {Uint32Array} texts numbers of strings
 *
 * @typedef {object} Model
 * @property {any} meta
 * @property {(number: number) => string} string
 * @property {Frames} frames
 * @property {Nodes} nodes
 * @property {Rows} rows
 * @property {Intervals} intervals
 * @property {Samples} samples
 * @property {Map<number, SourceFile>} sources by number of the file's name
 */

export const VIEW_PEAK = 0;
export const VIEW_LEAKS = 1;
export const VIEW_ALLOCATED = 2;
export const VIEW_TEMPORARY = 3;
const VIEW_COUNT = 4;
const FRAME_RUNTIME = 4;

/** What would move or hide the text around it: control characters but tabs, changes of direction. */
const UNSEEN = /[\0-\x08\n-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * @param {Uint8Array} bytes
 * @param {number} count
 * @returns {(number: number) => string} decodes a string when it is first asked for
 */
function readStrings(bytes, count) {
    const reader = new VarintReader(bytes);
    const starts = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++) starts[i + 1] = starts[i] + reader.next();
    const text = bytes.subarray(reader.at);
    const decoder = new TextDecoder();
    /** @type {string[]} */
    const known = new Array(count);
    return (number) =>
        (known[number] ??= decoder
            .decode(text.subarray(starts[number], starts[number + 1]))
            .replace(UNSEEN, '\ufffd'));
}

/**
 * @param {Uint8Array} bytes
 * @param {number} count
 * @returns {Frames}
 */
function readFrames(bytes, count) {
    const reader = new VarintReader(bytes);
    const column = () => reader.fill(new Uint32Array(count));
    const frames = {
        count,
        function: column(),
        file: column(),
        line: column(),
        kind: reader.fill(new Uint8Array(count)),
        isRuntime: new Uint8Array(count),
        module: column(),
        source: column(),
    };
    for (let i = 0; i < count; i++) {
        frames.isRuntime[i] = frames.kind[i] & FRAME_RUNTIME ? 1 : 0;
        frames.kind[i] &= FRAME_RUNTIME - 1;
    }
    return frames;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} count
 * @returns {Nodes}
 */
function readNodes(bytes, count) {
    const reader = new VarintReader(bytes);
    const nodes = {
        count,
        parent: new Int32Array(count),
        depth: new Uint32Array(count),
        frame: new Int32Array(count),
    };
    nodes.parent[0] = nodes.frame[0] = -1;
    for (let i = 1; i < count; i++) {
        nodes.depth[i] = nodes.depth[i - 1] + 1 - reader.next();
        let parent = i - 1;
        while (nodes.depth[parent] >= nodes.depth[i]) parent = nodes.parent[parent];
        nodes.parent[i] = parent;
    }
    for (let i = 1, newFrame = 0; i < count; i++) {
        const frame = reader.next();
        nodes.frame[i] = frame === 0 ? newFrame++ : frame - 1;
    }
    return nodes;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} count
 * @returns {Rows}
 */
function readRows(bytes, count) {
    const reader = new VarintReader(bytes);
    const node = reader.fill(new Uint32Array(count));
    for (let i = 1; i < count; i++) node[i] += node[i - 1];
    const thread = reader.fill(new Uint32Array(count));
    const allocator = reader.fill(new Uint8Array(count));
    const costs = [];
    for (let view = 0; view < VIEW_COUNT; view++) {
        costs.push({
            bytes: reader.fill(new Float64Array(count)),
            allocations: reader.fill(new Float64Array(count)),
        });
    }
    return {
        count,
        node,
        thread,
        allocator,
        bytes: costs.map((cost) => cost.bytes),
        allocations: costs.map((cost) => cost.allocations),
    };
}

/**
 * @param {Uint8Array} bytes
 * @param {number} count
 * @param {number} sampleCount
 * @returns {Intervals}
 */
function readIntervals(bytes, count, sampleCount) {
    const reader = new VarintReader(bytes);
    const row = reader.fill(new Uint32Array(count));
    const from = reader.fill(new Uint16Array(count));
    const to = new Uint16Array(count);
    for (let i = 1; i < count; i++) {
        if (row[i] === 0) from[i] += from[i - 1];
        row[i] += row[i - 1];
    }
    for (let i = 0; i < count; i++) {
        const lived = reader.next();
        to[i] = lived === 0 ? sampleCount + 1 : from[i] + lived;
    }
    const sizes = reader.fill(new Float64Array(count));
    const allocations = reader.fill(new Float64Array(count));
    return { count, row, from, to, bytes: sizes, allocations };
}

/**
 * @param {Uint8Array} bytes
 * @param {number} count
 * @returns {Samples}
 */
function readSamples(bytes, count) {
    const reader = new VarintReader(bytes);
    const column = () => {
        const values = new Float64Array(count);
        let value = 0;
        for (let i = 0; i < count; i++) {
            value += reader.nextFolded();
            values[i] = value;
        }
        return values;
    };
    const samples = { count, time: column(), heap: column(), blocks: column(), rss: column() };
    return { ...samples, allocations: column() };
}

/**
 * @param {Uint8Array} bytes
 * @param {number} count of files
 * @returns {Map<number, SourceFile>}
 */
function readSources(bytes, count) {
    const reader = new VarintReader(bytes);
    const files = reader.fill(new Uint32Array(count));
    const lengths = reader.fill(new Uint32Array(count));
    const all = Array.from(lengths, (length) => ({
        lines: reader.fill(new Uint32Array(length)),
        texts: new Uint32Array(length),
    }));
    for (const { lines, texts } of all) {
        for (let i = 1; i < lines.length; i++) lines[i] += lines[i - 1];
        reader.fill(texts);
    }
    return new Map(all.map((source, i) => [files[i], source]));
}

/**
 * Read the data sections of a page.
 * @param {(id: string) => {text: string, bytes: number}} section a script element by its id: its
 *     text, and what its data-bytes attribute says
 * @returns {Model}
 */
export function readModel(section) {
    const meta = JSON.parse(section('data-meta').text);
    const counts = meta.counts;
    const unpack = (/** @type {string} */ name) => {
        const { text, bytes } = section('data-' + name);
        return unpackLz4(decodeBase64(text), bytes);
    };
    return {
        meta,
        string: readStrings(unpack('strings'), counts.strings),
        frames: readFrames(unpack('frames'), counts.frames),
        nodes: readNodes(unpack('nodes'), counts.nodes),
        rows: readRows(unpack('rows'), counts.rows),
        intervals: readIntervals(unpack('intervals'), counts.intervals, counts.samples),
        samples: readSamples(unpack('samples'), counts.samples),
        sources: readSources(unpack('sources'), counts.sources),
    };
}
