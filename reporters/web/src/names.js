// @ts-check
// What a node or frame is called and where it comes from.
import { hashText } from './hash.js';
import { shortenPath } from './format.js';
import { VIEW_PEAK } from './model.js';

/** @typedef {import('./model.js').Model} Model */

export const ORIGINS = ['your code', 'packages', 'standard library', 'native code', 'runtime'];
export const ORIGIN_OWN = 0;
export const ORIGIN_PACKAGE = 1;
export const ORIGIN_LIBRARY = 2;
export const ORIGIN_NATIVE = 3;
export const ORIGIN_RUNTIME = 4;

/** Names of the kinds of frames, as the data numbers them, and of the boxes that the page adds. */
export const KINDS = ['Python', 'native', 'inlined', 'no frames', 'group'];
export const KIND_PYTHON = 0;
export const KIND_NATIVE = 1;
export const KIND_INLINED = 2;
export const KIND_SPECIAL = 3;
export const KIND_GROUP = 4;

const MODULE_CODE = '<module>';

/** @typedef {{origin: number, group: string}} Origin group: the package, or the native module */

/**
 * @param {import('./model.js').Frames} frames
 * @param {number} one
 * @param {number} other
 */
export function isSameFunction(frames, one, other) {
    return (
        frames.function[one] === frames.function[other] &&
        frames.file[one] === frames.file[other] &&
        frames.kind[one] === frames.kind[other]
    );
}

/** Texts of a model's frames; frame -1 is the root. */
export class Names {
    /** @param {Model} model */
    constructor(model) {
        this.model = model;
        /** How many frames there were before the page added any. */
        this.recorded = model.frames.count;
        /** @type {string[]} by frame */
        this.foundModules = [];
        /** @type {string[]} by frame */
        this.foundKeys = [];
        /** @type {Record<number, Map<string, number>>} by origin */
        this.foundGroups = {};
        /** @type {Map<number, string>} short path by string number of the file */
        this.paths = new Map();
        /** @type {Origin[]} by frame */
        this.foundOrigins = [];
    }

    /** @param {number} frame */
    functionOf(frame) {
        const { frames, string } = this.model;
        return frame < 0 ? 'all' : string(frames.function[frame]);
    }

    /**
     * @param {number} frame
     * @returns {string} the function, or of a module's own code the file: modules have all one name
     */
    titleOf(frame) {
        const name = this.functionOf(frame);
        if (name !== MODULE_CODE) return name;
        // Of a path that is shortened already, the file alone.
        return this.pathOf(frame).replace(/^…\/.*\//, '') || name;
    }

    /**
     * @param {number} frame
     * @returns {string} what tells frames of one title apart: "file.py:12", or only the line
     */
    asideOf(frame) {
        if (frame < 0 || !this.model.frames.line[frame]) return '';
        const line = this.model.frames.line[frame];
        if (this.functionOf(frame) === MODULE_CODE) return `line ${line}`;
        // A package's first file has one name everywhere.
        return `${this.pathOf(frame).replace(/^.*\/(?!__init__)/, '')}:${line}`;
    }

    /** @param {number} frame */
    fileOf(frame) {
        const { frames, string } = this.model;
        return frame < 0 ? '' : string(frames.file[frame]);
    }

    /**
     * @param {number} frame
     * @returns {string} short path, without the line
     */
    pathOf(frame) {
        if (frame < 0) return '';
        const file = this.model.frames.file[frame];
        let path = this.paths.get(file);
        if (path === undefined) {
            path = shortenPath(this.model.string(file), this.model.meta.directory);
            this.paths.set(file, path);
        }
        return path;
    }

    /**
     * @param {number} frame
     * @returns {string} "file.py:12", or the module, or nothing
     */
    placeOf(frame) {
        if (frame < 0) return '';
        const { frames, string } = this.model;
        const path = this.pathOf(frame);
        if (path === '') return frames.module[frame] ? string(frames.module[frame] - 1) : '';
        return frames.line[frame] ? `${path}:${frames.line[frame]}` : path;
    }

    /**
     * @param {number} frame
     * @returns {string} the line of source, or nothing
     */
    sourceOf(frame) {
        const { frames, string } = this.model;
        return frame < 0 || !frames.source[frame] ? '' : string(frames.source[frame] - 1);
    }

    /** @param {number} frame @returns {Origin} */
    originOf(frame) {
        if (frame < 0) return { origin: ORIGIN_RUNTIME, group: '' };
        return (this.foundOrigins[frame] ??= this.findOrigin(frame));
    }

    /** @param {number} frame @returns {Origin} */
    findOrigin(frame) {
        const { frames } = this.model;
        if (frames.kind[frame] >= KIND_SPECIAL || frames.isRuntime[frame]) {
            return { origin: ORIGIN_RUNTIME, group: '' };
        }
        const file = this.fileOf(frame);
        if (frames.kind[frame] !== KIND_PYTHON) {
            const { directory } = this.model.meta;
            const isOwn = directory && directory !== '/' && file.startsWith(directory + '/');
            if (isOwn) return { origin: ORIGIN_OWN, group: '' };
            return { origin: ORIGIN_NATIVE, group: this.moduleOf(frame) };
        }
        const inPackage = file.match(/\/(?:site|dist)-packages\/([^/]+)/);
        if (inPackage) return { origin: ORIGIN_PACKAGE, group: inPackage[1].replace(/\.py$/, '') };
        if (/\/lib\/python3[^/]*\//.test(file) || file.startsWith('<frozen ')) {
            return { origin: ORIGIN_LIBRARY, group: '' };
        }
        return { origin: ORIGIN_OWN, group: '' };
    }

    /** @param {number} frame @returns {string} the package, library or file that it is of, or nothing */
    moduleOf(frame) {
        if (frame < 0) return '';
        return (this.foundModules[frame] ??= this.findModule(frame));
    }

    /** @param {number} frame */
    findModule(frame) {
        const { frames, string } = this.model;
        if (frames.kind[frame] >= KIND_SPECIAL) return '';
        if (frames.kind[frame] !== KIND_PYTHON) {
            const module = frames.module[frame];
            if (!module) return 'native code';
            // An extension of Python without what it was built for.
            return string(module - 1).replace(/^.*\/|\.(?:cpython-[^.]*|abi3)(?=\.so)/g, '');
        }
        const { origin, group } = this.originOf(frame);
        if (origin === ORIGIN_PACKAGE) return group;
        const frozen = /^<frozen ([^.>]+)/.exec(this.fileOf(frame));
        if (frozen) return frozen[1];
        return this.pathOf(frame)
            .replace(/^…\//, '')
            .replace(/\/.*|\.py$/g, '');
    }

    /**
     * @param {number} frame
     * @returns {string} what names the function in a link, whatever its line and number in the page
     */
    keyOf(frame) {
        return (this.foundKeys[frame] ??= hashText(
            `${this.functionOf(frame)}\n${this.fileOf(frame)}`,
        )
            .toString(16)
            .padStart(8, '0'));
    }

    /** @returns {Set<number>} the origins that occur */
    origins() {
        const origins = new Set();
        for (let frame = 0; frame < this.recorded; frame++) {
            origins.add(this.originOf(frame).origin);
        }
        return origins;
    }

    /**
     * @param {number} wanted an origin
     * @returns {Map<string, number>} its packages or modules, those with the largest boxes first, with
     *     the area of their boxes at the peak of the whole run, where the root's is 1
     */
    groupsOf(wanted) {
        return (this.foundGroups[wanted] ??= this.findGroups(wanted));
    }

    /** @param {number} wanted @returns {Map<string, number>} */
    findGroups(wanted) {
        const { nodes, rows } = this.model;
        const total = new Float64Array(nodes.count);
        for (let i = 0; i < rows.count; i++) total[rows.node[i]] += rows.bytes[VIEW_PEAK][i];
        /** @type {Map<string, number>} */
        const areas = new Map();
        for (let i = nodes.count - 1; i > 0; i--) {
            total[nodes.parent[i]] += total[i];
            const { origin, group } = this.originOf(nodes.frame[i]);
            if (origin === wanted) areas.set(group, (areas.get(group) ?? 0) + total[i]);
        }
        const sorted = [...areas].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
        return new Map(sorted.map(([name, area]) => [name, area / (total[0] || 1)]));
    }
}
