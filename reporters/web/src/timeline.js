// @ts-check
// Heap and RSS over time, or over allocations, and the brush that selects a range of samples.
import { FONT_FACE, fitCanvas } from './dom.js';
import { formatBytes, formatCount, formatTime, trimZeros } from './format.js';
import { drawnLimits, failedText } from './limits.js';
import { placePhases } from './phases.js';
import { Labels } from './labels.js';
import { byteTicks, countTicks, timeTicks } from './ticks.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./color.js').Palette} Palette */

const LEFT = 68;
const RIGHT = 10;
const TOP = 8;
const PHASE_PIXELS = 15;
const PHASE_ROWS = 3;
const BOTTOM = 20;
const GRIP_PIXELS = 5;
const NEAR_PIXELS = 6;

/**
 * @typedef {object} TimelineHandlers
 * @property {(from: number, to: number, isDone: boolean) => void} onRange
 * @property {(sample: number) => void} onHover -1: left
 */

export class Timeline {
    /** @type {Palette} */
    palette;
    /** @type {CanvasRenderingContext2D} */
    context;
    /** @type {Labels} */
    labels;
    width = 0;
    height = 0;

    /**
     * @param {HTMLCanvasElement} canvas
     * @param {Model} model
     * @param {TimelineHandlers} handlers
     */
    constructor(canvas, model, handlers) {
        this.canvas = canvas;
        this.model = model;
        this.handlers = handlers;
        this.from = 0;
        this.to = Math.max(0, model.samples.count - 1);
        this.mark = -1;
        this.hovered = -1;
        this.pointer = -1;
        /** @type {'time' | 'allocations'} */
        this.axis = 'time';
        /** @type {Float64Array[]} */
        this.curves = [];
        this.back = document.createElement('canvas');
        this.backKey = '';
        this.isKnown = false;
        this.most = 0;
        this.phases = placePhases(model.meta.phases ?? [], PHASE_ROWS);
        const rows = this.phases.reduce((most, { row }) => Math.max(most, row + 1), 0);
        /** Where the curves begin, below the phases. */
        this.top = TOP + rows * PHASE_PIXELS;
        /** @type {null | ((sample: number) => [number, number])} */
        this.drag = null;
        canvas.addEventListener('pointerdown', (event) => this.press(event));
        canvas.addEventListener('pointermove', (event) => this.move(event));
        canvas.addEventListener('pointerup', () => this.release());
        canvas.addEventListener('pointercancel', () => this.release());
        canvas.addEventListener('pointerleave', () => this.hover(-1));
        canvas.addEventListener('dblclick', () => this.choose(0, this.last(), true));
    }

    /** @param {Palette} palette */
    paint(palette) {
        this.palette = palette;
    }

    last() {
        return Math.max(0, this.model.samples.count - 1);
    }

    isWhole() {
        return this.from <= 0 && this.to >= this.last();
    }

    /** Time on the axis: it begins with the program, not with the first sample. */
    endTime() {
        const { time, count } = this.model.samples;
        return Math.max(1, this.model.meta.endNs, count > 0 ? time[count - 1] : 0);
    }

    /** Whether it is known how many allocations there were up to each sample. */
    hasAllocations() {
        const { allocations, count } = this.model.samples;
        return count > 1 && allocations[count - 1] > 0;
    }

    /** @param {number} ns @returns {number} how many allocations there were before, about */
    allocationsAt(ns) {
        const { time, allocations, count } = this.model.samples;
        const next = this.firstFrom(ns);
        if (next >= count) return this.endAllocations();
        const before = next > 0 ? time[next - 1] : 0;
        const less = next > 0 ? allocations[next - 1] : 0;
        const part = time[next] > before ? (ns - before) / (time[next] - before) : 1;
        return less + part * (allocations[next] - less);
    }

    endAllocations() {
        const { allocations, count } = this.model.samples;
        return Math.max(1, this.model.meta.totals.allocations, allocations[count - 1]);
    }

    /** @param {number} ns @returns {number} the first sample at that time or later */
    firstFrom(ns) {
        const { time, count } = this.model.samples;
        let low = 0;
        let high = count;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (time[middle] < ns) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    /** @param {number} ns */
    xOf(ns) {
        const part =
            this.axis === 'time'
                ? ns / this.endTime()
                : this.allocationsAt(ns) / this.endAllocations();
        return LEFT + part * (this.width - LEFT - RIGHT);
    }

    /** @param {number} x @returns {number} the nearest sample */
    sampleAt(x) {
        const { samples } = this.model;
        const isTime = this.axis === 'time';
        const values = isTime ? samples.time : samples.allocations;
        const end = isTime ? this.endTime() : this.endAllocations();
        const wanted = ((x - LEFT) / (this.width - LEFT - RIGHT)) * end;
        let low = 0;
        let high = samples.count - 1;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (values[middle] < wanted) low = middle + 1;
            else high = middle;
        }
        if (low > 0 && wanted - values[low - 1] < values[low] - wanted) low--;
        return Math.max(0, low);
    }

    /**
     * @param {number} from nanoseconds
     * @param {number} to nanoseconds
     * @returns {{from: number, to: number}} the samples of that time, at least one
     */
    samplesOf(from, to) {
        const first = Math.min(this.firstFrom(from), this.last());
        return { from: first, to: Math.max(first, this.firstFrom(to + 1) - 1) };
    }

    /**
     * @param {number} from nanoseconds
     * @param {number} to nanoseconds
     */
    chooseTime(from, to) {
        const range = this.samplesOf(from, to);
        this.choose(range.from, range.to, true);
    }

    /** The drawn edges of the range: the whole run reaches from end to end. */
    edges() {
        const { time, count } = this.model.samples;
        const begin = this.from <= 0 || count === 0 ? 0 : time[this.from];
        const end = this.to >= this.last() || count === 0 ? this.endTime() : time[this.to];
        return { begin: this.xOf(begin), end: this.xOf(end) };
    }

    /** @param {PointerEvent} event */
    press(event) {
        if (event.button !== 0 || this.model.samples.count < 2) return;
        const x = event.offsetX;
        const { begin, end } = this.edges();
        const { from, to } = this;
        const start = this.sampleAt(x);
        const isInside = !this.isWhole() && x > begin && x < end;
        if (!this.isWhole() && Math.abs(x - begin) <= GRIP_PIXELS) this.drag = (at) => [at, to];
        else if (!this.isWhole() && Math.abs(x - end) <= GRIP_PIXELS)
            this.drag = (at) => [from, at];
        else if (isInside && event.shiftKey === false) {
            this.drag = (at) => {
                const shift = Math.max(-from, Math.min(this.last() - to, at - start));
                return [from + shift, to + shift];
            };
        } else this.drag = (at) => [start, at];
        this.canvas.setPointerCapture(event.pointerId);
    }

    /** @param {PointerEvent} event */
    move(event) {
        const sample = this.sampleAt(event.offsetX);
        this.pointer = event.offsetX;
        if (this.drag) {
            const [from, to] = this.drag(sample);
            if (from !== to) this.choose(Math.min(from, to), Math.max(from, to), false);
        }
        this.hover(sample);
        const { begin, end } = this.edges();
        const isGrip =
            !this.isWhole() &&
            Math.min(Math.abs(event.offsetX - begin), Math.abs(event.offsetX - end)) <= GRIP_PIXELS;
        const isInside = !this.isWhole() && event.offsetX > begin && event.offsetX < end;
        this.canvas.style.cursor = isGrip ? 'ew-resize' : isInside ? 'grab' : 'crosshair';
    }

    release() {
        if (!this.drag) return;
        this.drag = null;
        this.choose(this.from, this.to, true);
    }

    /** @param {number} sample */
    hover(sample) {
        if (sample === this.hovered) return;
        this.hovered = sample;
        this.handlers.onHover(sample);
        // What is dragged is drawn with all that follows from it.
        if (!this.drag) this.draw();
    }

    /**
     * @param {number} from
     * @param {number} to
     * @param {boolean} isDone false while dragging
     */
    choose(from, to, isDone) {
        const last = this.last();
        this.from = Math.max(0, Math.min(from, last));
        this.to = Math.max(this.from, Math.min(to, last));
        this.handlers.onRange(this.from, this.to, isDone);
    }

    /** Move the range by a part of its length. @param {number} direction -1 or 1 */
    shift(direction) {
        const step = Math.max(1, Math.round((this.to - this.from) / 4)) * direction;
        const shift = Math.max(-this.from, Math.min(this.last() - this.to, step));
        this.choose(this.from + shift, this.to + shift, true);
    }

    /** Change the range's length around its middle. @param {number} factor */
    scale(factor) {
        const middle = (this.from + this.to) / 2;
        const half = Math.max(1, ((this.to - this.from) / 2) * factor);
        this.choose(Math.round(middle - half), Math.round(middle + half), true);
    }

    resize() {
        this.width = this.canvas.clientWidth;
        this.height = this.canvas.clientHeight;
        if (this.width === 0 || this.height === 0) return;
        this.context = fitCanvas(this.canvas, this.width, this.height);
        this.context.font = `11px ${FONT_FACE}`;
        this.context.textBaseline = 'middle';
    }

    /** The most that the curves show. */
    highest() {
        const { heap, rss, count } = this.model.samples;
        if (this.most === 0) {
            this.most = 1;
            for (let i = 0; i < count; i++) this.most = Math.max(this.most, heap[i], rss[i]);
        }
        return this.most;
    }

    /** The limits that are drawn. */
    limits() {
        const { samples, meta } = this.model;
        return samples.count > 0 ? drawnLimits(meta.limits, this.highest()) : [];
    }

    /** What is behind the range and the pointer changed: draw() draws it anew. */
    forget() {
        this.isKnown = false;
    }

    draw() {
        const { context: pen, palette, model } = this;
        if (!pen || !palette || this.width === 0) return;
        const { samples } = model;
        const limits = this.limits();
        const most = Math.max(this.highest(), ...limits.map(({ highest }) => highest));
        const bottom = this.height - BOTTOM;
        const yOf = (/** @type {number} */ bytes) =>
            bottom - (bytes / (most * 1.04)) * (bottom - this.top);
        this.drawBack(most, limits, yOf, bottom);
        if (samples.count > 0) {
            this.drawRange(bottom);
            this.drawWords(bottom);
            this.drawMark(yOf, bottom);
            this.drawHover(yOf, bottom);
        }
    }

    /**
     * Axes, curves and limits, from a picture of them while they are the same.
     * @param {number} most
     * @param {ReturnType<typeof drawnLimits>} limits
     * @param {(bytes: number) => number} yOf
     * @param {number} bottom
     */
    drawBack(most, limits, yOf, bottom) {
        const { context: pen, canvas, back } = this;
        const key = `${canvas.width} ${canvas.height} ${this.axis} ${this.palette.isDark}`;
        if (!this.isKnown || this.backKey !== key) {
            this.isKnown = true;
            this.backKey = key;
            pen.fillStyle = this.palette.panel;
            pen.fillRect(0, 0, this.width, this.height);
            this.drawAxes(most, yOf, bottom);
            if (this.model.samples.count > 0) {
                this.drawCurves(yOf, bottom);
                this.drawLimits(limits, yOf, bottom);
            }
            back.width = canvas.width;
            back.height = canvas.height;
            back.getContext('2d')?.drawImage(canvas, 0, 0);
            return;
        }
        pen.drawImage(back, 0, 0, this.width, this.height);
    }

    /**
     * @param {number} most
     * @param {(bytes: number) => number} yOf
     * @param {number} bottom
     */
    drawAxes(most, yOf, bottom) {
        const { context: pen, palette } = this;
        pen.lineWidth = 1;
        pen.strokeStyle = palette.grid;
        pen.fillStyle = palette.muted;
        pen.textAlign = 'right';
        for (const bytes of byteTicks(most > 1 ? most : 0, this.height > 110 ? 4 : 3)) {
            const y = Math.round(yOf(bytes)) + 0.5;
            pen.beginPath();
            pen.moveTo(LEFT, y);
            pen.lineTo(this.width - RIGHT, y);
            pen.stroke();
            pen.fillText(bytes === 0 ? '0' : trimZeros(formatBytes(bytes)), LEFT - 8, y);
        }
        pen.textAlign = 'center';
        const count = Math.max(2, Math.floor((this.width - LEFT) / 110));
        const isTime = this.axis === 'time';
        const end = isTime ? this.endTime() : this.endAllocations();
        for (const value of isTime ? timeTicks(end, count) : countTicks(end, count)) {
            const x = LEFT + (value / end) * (this.width - LEFT - RIGHT);
            const text = isTime ? trimZeros(formatTime(value)) : formatCount(value);
            if (x + pen.measureText(text).width / 2 > this.width) continue;
            pen.fillText(text, x, bottom + 12);
        }
    }

    /**
     * @param {(bytes: number) => number} yOf
     * @param {number} bottom
     */
    drawCurves(yOf, bottom) {
        const { context: pen, palette, model, curves } = this;
        const { count, time, rss } = model.samples;
        const base = new Float64Array(count);
        curves.forEach((curve, family) => {
            pen.fillStyle = palette.families[family];
            pen.beginPath();
            for (let i = 0; i < count; i++) pen.lineTo(this.xOf(time[i]), yOf(base[i] + curve[i]));
            for (let i = count - 1; i >= 0; i--) pen.lineTo(this.xOf(time[i]), yOf(base[i]));
            pen.fill();
            for (let i = 0; i < count; i++) base[i] += curve[i];
        });
        if (count === 1) {
            pen.fillStyle = palette.families[0];
            const y = yOf(model.samples.heap[0]);
            pen.fillRect(this.xOf(time[0]) - 1, y, 3, bottom - y);
        }
        pen.strokeStyle = palette.rss;
        pen.lineWidth = 1.25;
        pen.setLineDash([4, 3]);
        pen.beginPath();
        for (let i = 0; i < count; i++) if (rss[i] > 0) pen.lineTo(this.xOf(time[i]), yOf(rss[i]));
        pen.stroke();
        pen.setLineDash([]);
    }

    /**
     * Limits as lines with their names, failed allocations as marks that stand on the axis.
     * @param {ReturnType<typeof drawnLimits>} limits
     * @param {(bytes: number) => number} yOf
     * @param {number} bottom
     */
    drawLimits(limits, yOf, bottom) {
        const { context: pen, palette, model } = this;
        pen.strokeStyle = palette.limit;
        pen.lineWidth = 1.5;
        /** @type {number[]} */
        const named = [];
        for (const { limit, steps } of limits) {
            pen.beginPath();
            steps.forEach(([ns, bytes], i) => {
                if (bytes === null) return;
                const before = i > 0 ? steps[i - 1][1] : null;
                const y = Math.round(yOf(bytes)) + 0.5;
                if (before === null) pen.moveTo(this.xOf(ns), y);
                else pen.lineTo(this.xOf(ns), y);
                pen.lineTo(this.xOf(steps[i + 1]?.[0] ?? this.endTime()), y);
            });
            pen.stroke();
            this.nameLimit(limit, steps, yOf, named);
        }
        pen.fillStyle = palette.hot;
        for (const [sample] of model.meta.failed) {
            const x = this.xOf(model.samples.time[sample]);
            pen.beginPath();
            pen.moveTo(x, bottom - 9);
            pen.lineTo(x + 4.5, bottom);
            pen.lineTo(x - 4.5, bottom);
            pen.fill();
        }
    }

    /**
     * The name stands at the last part of the line, above it where there is room, and not over another.
     * @param {string} limit
     * @param {[number, number | null][]} steps
     * @param {(bytes: number) => number} yOf
     * @param {number[]} named where names stand; the new one is added
     */
    nameLimit(limit, steps, yOf, named) {
        const { context: pen, palette } = this;
        let last = steps.length - 1;
        while (steps[last][1] === null) last--;
        const bytes = /** @type {number} */ (steps[last][1]);
        const end = Math.min(this.xOf(steps[last + 1]?.[0] ?? this.endTime()), this.width - RIGHT);
        const line = yOf(bytes);
        const y = line - this.top < 12 ? line + 9 : line - 8;
        const text = `${limit} ${trimZeros(formatBytes(bytes))}`;
        const width = pen.measureText(text).width;
        const right = Math.max(end - 3, LEFT + width + 6);
        if (right > this.width - RIGHT || named.some((other) => Math.abs(other - y) < 13)) return;
        named.push(y);
        pen.fillStyle = palette.shade;
        pen.fillRect(right - width - 3, y - 7, width + 6, 13);
        pen.fillStyle = palette.limit;
        pen.textAlign = 'right';
        pen.fillText(text, right, y);
    }

    /** @param {number} bottom */
    drawRange(bottom) {
        if (this.isWhole()) return;
        const { context: pen, palette } = this;
        const { begin, end } = this.edges();
        pen.fillStyle = palette.shade;
        pen.fillRect(LEFT, this.top, begin - LEFT, bottom - this.top);
        pen.fillRect(end, this.top, this.width - RIGHT - end, bottom - this.top);
        pen.fillStyle = palette.accent;
        for (const x of [begin, end]) {
            pen.fillRect(Math.round(x) - 0.5, this.top, 1, bottom - this.top);
            pen.fillRect(Math.round(x) - 2, (this.top + bottom) / 2 - 9, 4, 18);
        }
    }

    drawPhases() {
        const { context: pen, palette, pointer, phases } = this;
        const labels = (this.labels ??= new Labels(pen));
        pen.textAlign = 'left';
        for (const { from, to, name, peak, row } of phases) {
            const [left, right] = [this.xOf(from), this.xOf(to)];
            const y = 2 + row * PHASE_PIXELS;
            const isNear = this.hovered >= 0 && pointer >= left && pointer <= right;
            pen.fillStyle = isNear ? palette.accent : palette.phase;
            pen.fillRect(left, y, Math.max(1, right - left - 1), PHASE_PIXELS - 2);
            pen.fillStyle = isNear ? palette.panel : palette.ink;
            const text = labels.cut(`${name}  peak ${formatBytes(peak)}`, right - left - 10);
            if (text !== '') pen.fillText(text, left + 5, y + PHASE_PIXELS / 2 - 1);
        }
    }

    /**
     * What the program said itself: phases as bars along the top, marks as lines. Those near the
     * pointer have their names beside it.
     * @param {number} bottom
     */
    drawWords(bottom) {
        const { context: pen, palette, pointer } = this;
        const { marks = [], failed } = this.model.meta;
        const names = [];
        for (const [sample, count] of failed) {
            const x = this.xOf(this.model.samples.time[sample]);
            if (Math.abs(pointer - x) <= NEAR_PIXELS) names.push(failedText(count));
        }
        this.drawPhases();
        pen.fillStyle = palette.muted;
        for (const [ns, name] of marks) {
            const x = Math.round(this.xOf(ns));
            pen.fillRect(x, this.top, 1, bottom - this.top);
            pen.fillRect(x - 2, this.top, 5, 3);
            if (Math.abs(pointer - x) <= NEAR_PIXELS) names.push(name);
        }
        if (this.hovered < 0 || names.length === 0) return;
        const isRight = pointer > this.width / 2;
        pen.fillStyle = palette.ink;
        pen.textAlign = isRight ? 'right' : 'left';
        names.slice(0, 4).forEach((name, line) => {
            pen.fillText(name, pointer + (isRight ? -8 : 8), this.top + 12 + 14 * line);
        });
    }

    /**
     * @param {(bytes: number) => number} yOf
     * @param {number} bottom
     */
    drawMark(yOf, bottom) {
        const { context: pen, palette, model } = this;
        const { time, heap } = model.samples;
        if (this.mark < 0 || !(heap[this.mark] > 0)) return;
        const x = Math.round(this.xOf(time[this.mark])) + 0.5;
        pen.strokeStyle = pen.fillStyle = palette.hot;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(x, this.top);
        pen.lineTo(x, bottom);
        pen.stroke();
        pen.beginPath();
        pen.arc(x, yOf(heap[this.mark]), 3, 0, 7);
        pen.fill();
    }

    /**
     * @param {(bytes: number) => number} yOf
     * @param {number} bottom
     */
    drawHover(yOf, bottom) {
        if (this.hovered < 0 || this.hovered >= this.model.samples.count) return;
        const { context: pen, palette, model } = this;
        const { time, heap } = model.samples;
        const x = Math.round(this.xOf(time[this.hovered])) + 0.5;
        pen.strokeStyle = palette.mutedInk;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(x, this.top);
        pen.lineTo(x, bottom);
        pen.stroke();
        pen.fillStyle = palette.ink;
        pen.beginPath();
        pen.arc(x, yOf(heap[this.hovered]), 2.5, 0, 7);
        pen.fill();
    }
}
