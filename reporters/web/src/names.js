// @ts-check
// What a node or frame is called and where it comes from.
import { shortenPath } from './format.js';

/** @typedef {import('./model.js').Model} Model */

export const ORIGINS = ['your code', 'packages', 'standard library', 'runtime'];
export const ORIGIN_OWN = 0;
export const ORIGIN_PACKAGE = 1;
export const ORIGIN_LIBRARY = 2;
export const ORIGIN_RUNTIME = 3;

/** Texts of a model's frames; frame -1 is the root. */
export class Names {
    /** @param {Model} model */
    constructor(model) {
        this.model = model;
        /** @type {Map<number, string>} short path by string number of the file */
        this.paths = new Map();
    }

    /** @param {number} frame */
    functionOf(frame) {
        const { frames, string } = this.model;
        return frame < 0 ? 'all' : string(frames.function[frame]);
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

    /**
     * @param {number} frame
     * @returns {{origin: number, group: string}} group: the package, where it is of one
     */
    originOf(frame) {
        const { frames } = this.model;
        if (frame < 0 || frames.kind[frame] === 3) return { origin: ORIGIN_RUNTIME, group: '' };
        if (frames.isRuntime[frame]) return { origin: ORIGIN_RUNTIME, group: '' };
        if (frames.kind[frame] !== 0) {
            const module = frames.module[frame];
            return { origin: ORIGIN_RUNTIME, group: module ? this.model.string(module - 1) : '' };
        }
        const file = this.fileOf(frame);
        const inPackage = file.match(/\/(?:site|dist)-packages\/([^/]+)/);
        if (inPackage) return { origin: ORIGIN_PACKAGE, group: inPackage[1] };
        if (/\/lib\/python3[^/]*\//.test(file) || file.startsWith('<frozen ')) {
            return { origin: ORIGIN_LIBRARY, group: '' };
        }
        return { origin: ORIGIN_OWN, group: '' };
    }
}
