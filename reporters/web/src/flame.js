// @ts-check
// The flame graph, its root above or below, on a canvas as large as its window, whatever the tree's
// size. What is narrower than a pixel is skipped with all that it calls, so the work is bounded by pixels.
import { FONT_FACE, fitCanvas } from './dom.js';
import { Labels } from './labels.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./tree.js').Layout} Layout */
/** @typedef {import('./color.js').Palette} Palette */

export const ROW_PIXELS = 20;
const MIN_PIXELS = 0.75;
const LABEL_PIXELS = 24;
const PADDING = 5;
const GAP = 10;

/**
 * @typedef {object} FlameHandlers
 * @property {(node: number) => string} labelOf
 * @property {(node: number) => string} sizeOf
 * @property {(node: number) => string} asideOf what is told last, or nothing
 * @property {(node: number) => string} colorOf
 * @property {(node: number, event: PointerEvent | null) => void} onHover -1: nothing there
 * @property {(node: number) => void} onClick
 */

export class Flame {
    /** @type {Tree} */
    tree;
    /** @type {Layout} */
    layout;
    /** @type {Palette} */
    palette;
    /** @type {CanvasRenderingContext2D} */
    context;
    /** @type {Labels} */
    labels;

    /**
     * @param {HTMLCanvasElement} canvas
     * @param {HTMLElement} scroller holds the canvas, which sticks to its top, and the spacer
     * @param {HTMLElement} spacer as high as the whole tree
     * @param {FlameHandlers} handlers
     */
    constructor(canvas, scroller, spacer, handlers) {
        this.canvas = canvas;
        this.scroller = scroller;
        this.spacer = spacer;
        this.handlers = handlers;
        this.width = this.height = 0;
        this.from = 0;
        this.to = 1;
        this.zoomed = this.selected = 0;
        this.hovered = -1;
        /** The root is at the bottom. */
        this.isUpward = false;
        this.isTurned = false;
        this.rows = 1;
        /** @type {Uint8Array | null} by frame */
        this.matches = null;
        scroller.addEventListener('scroll', () => this.draw());
        canvas.addEventListener('pointermove', (event) => this.hover(event));
        canvas.addEventListener('pointerleave', () => this.hover(null));
        canvas.addEventListener('click', (event) => {
            const node = this.nodeAt(event.offsetX, event.offsetY);
            if (node >= 0) handlers.onClick(node);
        });
        canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    }

    /**
     * @param {Tree} tree
     * @param {Layout} layout
     */
    show(tree, layout) {
        this.tree = tree;
        this.layout = layout;
        this.hovered = -1;
        this.zoom(this.zoomed < tree.count ? this.zoomed : 0);
    }

    /** @param {Palette} palette */
    paint(palette) {
        this.palette = palette;
    }

    /**
     * Show a node as wide as the window. One without size gives way to the next above that has one.
     * @param {number} node
     */
    zoom(node) {
        const { parent } = this.tree;
        const { left, total } = this.layout;
        while (node > 0 && total[node] <= 0) node = parent[node];
        this.zoomed = node;
        this.from = left[node];
        this.to = left[node] + total[node];
        this.resize();
    }

    /** Take the window's size. Call draw() after it. */
    resize() {
        if (!this.tree) return;
        const { scrollTop, clientHeight, scrollHeight } = this.scroller;
        const below = this.isTurned ? 0 : scrollHeight - clientHeight - scrollTop;
        this.rows = this.depthShown();
        this.spacer.style.height = `${this.rows * ROW_PIXELS}px`;
        this.width = this.scroller.clientWidth;
        this.height = this.scroller.clientHeight;
        // Where the root is below, what stays in place is the lower edge.
        if (this.isUpward) {
            this.scroller.scrollTop = this.scroller.scrollHeight - this.height - below;
        } else if (this.isTurned) this.scroller.scrollTop = 0;
        this.isTurned = false;
        if (this.width === 0 || this.height === 0) return;
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
        /* The canvas takes no room of its own: what is scrolled is the spacer. */
        this.canvas.style.marginBottom = `${-this.height}px`;
        this.context = fitCanvas(this.canvas, this.width, this.height);
        this.context.font = `12px ${FONT_FACE}`;
        this.context.textBaseline = 'middle';
        this.labels ??= new Labels(this.context);
    }

    /** Put the root at the bottom or the top; resize() then shows it. @param {boolean} isUpward */
    turn(isUpward) {
        this.isTurned = this.isTurned || this.isUpward !== isUpward;
        this.isUpward = isUpward;
    }

    /** @param {number} depth @returns {number} where its row begins in the canvas */
    rowTop(depth) {
        const { scrollTop } = this.scroller;
        if (!this.isUpward) return depth * ROW_PIXELS - scrollTop;
        const all = Math.max(this.rows * ROW_PIXELS, this.height);
        return all - (depth + 1) * ROW_PIXELS - scrollTop;
    }

    /** How many rows have anything in them. */
    depthShown() {
        const { depth, end } = this.tree;
        const { total } = this.layout;
        let deepest = 0;
        for (let i = this.zoomed; i < end[this.zoomed]; i++) {
            if (depth[i] > deepest && total[i] > 0) deepest = depth[i];
        }
        return deepest + 1;
    }

    draw() {
        const { context: pen, tree, layout, palette } = this;
        if (!pen || !palette || this.width === 0) return;
        pen.fillStyle = palette.panel;
        pen.fillRect(0, 0, this.width, this.height);
        if (!(layout.total[0] > 0)) {
            pen.fillStyle = palette.muted;
            pen.textAlign = 'center';
            pen.fillText(
                'There is no memory in this view.',
                this.width / 2,
                Math.min(60, this.height / 2),
            );
            pen.textAlign = 'left';
            return;
        }
        const { depth, end } = tree;
        const { left, total } = layout;
        const scale = this.width / (this.to - this.from);
        /** @type {{node: number, x: number, y: number, width: number}[]} */
        const labels = [];
        const rest = new Rest(pen, palette, this.labels);

        for (let node = 0; node < tree.count;) {
            const x = (left[node] - this.from) * scale;
            const width = total[node] * scale;
            const y = this.rowTop(depth[node]);
            const isBeyond = this.isUpward ? y <= -ROW_PIXELS : y >= this.height;
            if (x >= this.width || x + width <= 0 || isBeyond || total[node] <= 0) {
                node = end[node];
                continue;
            }
            if (width < MIN_PIXELS) {
                rest.add(depth[node], x, width, y);
                node = end[node];
                continue;
            }
            if (y > -ROW_PIXELS && y < this.height) {
                const begin = Math.max(0, x);
                const shown = Math.min(this.width, x + width) - begin;
                this.drawBox(node, begin, y, shown);
                if (shown >= LABEL_PIXELS) labels.push({ node, x: begin, y, width: shown });
            }
            node++;
        }
        rest.finish();
        for (const label of labels) this.drawLabel(label);
        this.drawMark(this.hovered, scale, palette.ink, 1);
        this.drawMark(this.selected, scale, palette.accent, 2);
    }

    /**
     * @param {number} node
     * @param {number} x
     * @param {number} y
     * @param {number} width
     */
    drawBox(node, x, y, width) {
        const { context: pen, palette } = this;
        const frame = this.tree.frame[node];
        pen.globalAlpha = node < this.zoomed && this.tree.end[node] > this.zoomed ? 0.55 : 1;
        if (!this.matches) pen.fillStyle = this.handlers.colorOf(node);
        else pen.fillStyle = frame >= 0 && this.matches[frame] ? palette.hit : palette.faded;
        pen.fillRect(x, y, width > 2 ? width - 1 : width, ROW_PIXELS - 1);
        pen.globalAlpha = 1;
    }

    /** @param {{node: number, x: number, y: number, width: number}} label */
    drawLabel({ node, x, y, width }) {
        const { context: pen, labels, palette, handlers } = this;
        const frame = this.tree.frame[node];
        const isHit = this.matches && frame >= 0 && this.matches[frame];
        const searched = isHit ? palette.hitInk : palette.fadedInk;
        const room = width - 2 * PADDING;
        const text = labels.cut(handlers.labelOf(node), room);
        if (text === '') return;
        const middle = y + ROW_PIXELS / 2;
        pen.fillStyle = this.matches ? searched : palette.ink;
        pen.fillText(text, x + PADDING, middle);
        const size = handlers.sizeOf(node);
        let after = labels.measure(text) + GAP;
        if (room - after < labels.measure(size)) return;
        pen.fillStyle = this.matches ? searched : palette.mutedInk;
        pen.fillText(size, x + PADDING + after, middle);
        after += labels.measure(size) + GAP;
        const aside = handlers.asideOf(node);
        if (room - after >= labels.measure(aside)) pen.fillText(aside, x + PADDING + after, middle);
    }

    /**
     * @param {number} node
     * @param {number} scale
     * @param {string} color
     * @param {number} line
     */
    drawMark(node, scale, color, line) {
        if (node < 0 || node >= this.tree.count || this.layout.total[node] <= 0) return;
        if (node === 0 && line === 2) return;
        const x = Math.max(0, (this.layout.left[node] - this.from) * scale);
        const end = Math.min(
            this.width,
            (this.layout.left[node] + this.layout.total[node] - this.from) * scale,
        );
        if (end <= 0 || x >= this.width) return;
        this.context.strokeStyle = color;
        this.context.lineWidth = line;
        this.context.strokeRect(
            x + line / 2,
            this.rowTop(this.tree.depth[node]) + line / 2,
            Math.max(1, end - x - 1 - line),
            ROW_PIXELS - 1 - line,
        );
    }

    /**
     * @param {number} x in the canvas
     * @param {number} y in the canvas
     * @returns {number} the node drawn there, or -1
     */
    nodeAt(x, y) {
        if (!this.tree || this.width === 0) return -1;
        const { depth, end, count } = this.tree;
        const { left, total } = this.layout;
        const value = this.from + (x / this.width) * (this.to - this.from);
        const row = Math.floor(
            (this.isUpward ? this.rowTop(-1) - y : y - this.rowTop(0)) / ROW_PIXELS,
        );
        for (let node = 0; node < count;) {
            if (value < left[node] || value >= left[node] + total[node]) node = end[node];
            else if (depth[node] === row) return node;
            else node++;
        }
        return -1;
    }

    /** @param {PointerEvent | null} event */
    hover(event) {
        const node = event ? this.nodeAt(event.offsetX, event.offsetY) : -1;
        if (node !== this.hovered) {
            this.hovered = node;
            this.draw();
        }
        this.handlers.onHover(node, event);
    }

    /** @param {WheelEvent} event */
    wheel(event) {
        const span = this.to - this.from;
        const all = this.layout.total[0];
        if (event.ctrlKey || event.metaKey) {
            const at = this.from + (event.offsetX / this.width) * span;
            const wanted = Math.min(
                all,
                Math.max(all * 1e-6, span * Math.exp(event.deltaY * 0.003)),
            );
            this.move(at - ((at - this.from) * wanted) / span, wanted);
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            const pixels = event.deltaX || event.deltaY;
            this.move(this.from + (pixels / this.width) * span, span);
        } else {
            return;
        }
        event.preventDefault();
        this.draw();
    }

    /**
     * @param {number} from
     * @param {number} span
     */
    move(from, span) {
        this.from = Math.max(0, Math.min(from, this.layout.total[0] - span));
        this.to = this.from + span;
    }

    /**
     * @param {string} key of an arrow
     * @returns {number} the node that it leads to from the one that is selected, or -1
     */
    neighbour(key) {
        const { tree, layout, selected: node } = this;
        const parent = tree.parent[node];
        // Where the root is below, what a function calls is above it.
        if (key === (this.isUpward ? 'ArrowDown' : 'ArrowUp')) return parent;
        const isDown = key === (this.isUpward ? 'ArrowUp' : 'ArrowDown');
        const above = isDown ? node : parent;
        if (above < 0) return -1;
        let before = -1;
        for (let at = above + 1; at < tree.end[above]; at = tree.end[at]) {
            if (layout.total[at] <= 0) continue;
            if (isDown) return at;
            if (key === 'ArrowLeft' && at === node) return before;
            if (key === 'ArrowRight' && at > node) return at;
            before = at;
        }
        return -1;
    }

    /** Scroll so that a node's row is seen. @param {number} node */
    reveal(node) {
        const y = this.rowTop(this.tree.depth[node]);
        const { scroller } = this;
        if (y < 0) scroller.scrollTop += y;
        else if (y + ROW_PIXELS > this.height) scroller.scrollTop += y + ROW_PIXELS - this.height;
    }
}

/** Neighbours too narrow to be drawn become one grey box, so that nothing vanishes. */
class Rest {
    /**
     * @param {CanvasRenderingContext2D} pen
     * @param {Palette} palette
     * @param {Labels} labels
     */
    constructor(pen, palette, labels) {
        this.pen = pen;
        this.palette = palette;
        this.labels = labels;
        /** @type {({x: number, end: number, y: number, count: number} | undefined)[]} by depth */
        this.pending = [];
    }

    /**
     * @param {number} depth
     * @param {number} x
     * @param {number} width
     * @param {number} y
     */
    add(depth, x, width, y) {
        const run = this.pending[depth];
        if (run && x - run.end < 0.5) {
            run.end = x + width;
            run.count++;
            return;
        }
        if (run) this.drawRun(run);
        this.pending[depth] = { x, end: x + width, y, count: 1 };
    }

    /** @param {{x: number, end: number, y: number, count: number}} run */
    drawRun({ x, end, y, count }) {
        if (end - x < MIN_PIXELS) return;
        this.pen.fillStyle = this.palette.more;
        this.pen.fillRect(x, y, Math.max(MIN_PIXELS, end - x - 1), ROW_PIXELS - 1);
        const text = this.labels.cut(`${count} more`, end - x - 2 * PADDING);
        if (text === '' || text.endsWith('…')) return;
        this.pen.fillStyle = this.palette.mutedInk;
        this.pen.fillText(text, x + PADDING, y + ROW_PIXELS / 2);
    }

    finish() {
        for (const run of this.pending) if (run) this.drawRun(run);
    }
}
