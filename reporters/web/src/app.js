// @ts-check
// The page at work: state, the trees and numbers that follow from it, and what shows them.
import { familyCurves, familyOf, sumRows } from './aggregate.js';
import { makeCaption } from './caption.js';
import { Palette } from './color.js';
import { showDetails, showTip, spokenNode, stackText } from './details.js';
import { byId } from './dom.js';
import { Flame } from './flame.js';
import { formatBytes, formatCount, formatShare, formatTime } from './format.js';
import { renderInfo } from './info.js';
import { Names } from './names.js';
import { findPath, formatLink, hashPath } from './permalink.js';
import { makeMatcher, matchFrames, matchNodes } from './search.js';
import { LABELS, TABS, readState, stateFields } from './state.js';
import { Table } from './table.js';
import { Timeline } from './timeline.js';
import { buildTree, hasRecursion, layoutTree, ownCosts, totalCosts } from './tree.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./tree.js').Tree} Tree */

export class App {
    /** @type {Tree} */
    tree;
    /** @type {import('./tree.js').Layout} */
    layout;
    /** @type {import('./details.js').Costs} */
    costs;
    /** @type {import('./aggregate.js').RowCosts} */
    rows;
    /** @type {import('./search.js').Matches | null} */
    matches = null;
    /** @type {Palette} */
    palette;
    isPlanned = false;

    /**
     * @param {Model} model
     * @param {string} link
     */
    constructor(model, link) {
        this.model = model;
        this.names = new Names(model);
        const { state, node } = readState(model, link);
        this.state = state;
        this.hasRuntime = model.frames.isRuntime.includes(1);
        this.hasRecursion = hasRecursion(model);
        this.isDark = false;
        /** @type {(() => void)[]} told after every change of the state */
        this.watchers = [];
        this.flame = new Flame(byId('flame'), byId('scroller'), byId('spacer'), {
            labelOf: (at) => this.labelOf(at),
            sizeOf: (at) => this.sizeOf(at),
            asideOf: (at) => this.asideOf(at),
            onHover: (at, event) => this.hover(at, event),
            onClick: (at) => this.zoom(at),
        });
        this.timeline = new Timeline(byId('timeline'), model, {
            onRange: (from, to) => this.change({ from, to }),
            onHover: (sample) => this.readTime(sample),
        });
        this.table = new Table(byId('panel-table'), this.names, (frame) => this.showFrame(frame));
        this.timeline.from = state.from;
        this.timeline.to = state.to;
        this.firstNode = node;
    }

    /** Show everything for the first time. */
    start() {
        renderInfo(byId('panel-info'), this.model.meta);
        this.showTab();
        this.timeline.resize();
        this.reshape();
        const node = findPath(this.tree, this.names, this.firstNode);
        this.flame.zoomed = this.flame.selected = node;
        this.recount();
        this.search();
        this.tell();
    }

    /**
     * Change the state; what follows from it is done before the next frame is drawn.
     * @param {Partial<import('./state.js').State>} changes
     */
    change(changes) {
        const before = { ...this.state };
        Object.assign(this.state, changes);
        const { state } = this;
        const isReshaped =
            before.isInverted !== state.isInverted ||
            before.showsRuntime !== state.showsRuntime ||
            before.foldsRecursion !== state.foldsRecursion;
        if (isReshaped) this.reshape();
        if (before.thread !== state.thread || before.allocator !== state.allocator) {
            this.timeline.curves = familyCurves(this.model, state);
        }
        if (this.isPlanned) return;
        this.isPlanned = true;
        requestAnimationFrame(() => {
            this.isPlanned = false;
            this.recount();
            this.search();
            this.tell();
        });
    }

    /** Build the tree for the state. A zoom of another tree means nothing in it. */
    reshape() {
        this.tree = buildTree(this.model, this.state);
        this.flame.zoomed = this.flame.selected = 0;
        this.timeline.curves = familyCurves(this.model, this.state);
    }

    /** Count for the state and draw. */
    recount() {
        byId('tip').hidden = true;
        const { model, tree, state } = this;
        const rows = sumRows(model, state);
        const ownBytes = ownCosts(model, tree, rows.bytes);
        const ownAllocations = ownCosts(model, tree, rows.allocations);
        const isCount = state.metric === 'count';
        this.layout = layoutTree(tree, isCount ? ownAllocations : ownBytes);
        this.costs = {
            ownBytes,
            ownAllocations,
            totalBytes: isCount ? totalCosts(tree, ownBytes) : this.layout.total,
            totalAllocations: isCount ? this.layout.total : totalCosts(tree, ownAllocations),
        };
        this.rows = rows;
        this.timeline.mark = rows.sample;
        this.flame.show(tree, this.layout);
        const { size, rest } = makeCaption(
            model,
            state,
            rows,
            this.costs.totalBytes[0],
            this.costs.totalAllocations[0],
        );
        const strong = document.createElement('strong');
        strong.textContent = size;
        byId('caption').replaceChildren(strong, ' ' + rest);
        byId('caption').title = `${size} ${rest}`;
        this.timeline.draw();
    }

    /** Find what is searched for, then draw what shows it. */
    search() {
        const { state, flame } = this;
        const { test, error } = makeMatcher(state.query, state.isRegex);
        this.matches = test
            ? matchNodes(this.tree, this.layout.total, matchFrames(this.names, test))
            : null;
        flame.matches = this.matches ? this.matches.frames : null;
        byId('query').setAttribute('aria-invalid', String(error !== ''));
        byId('found').textContent = error || this.foundText();
        this.drawPanel();
    }

    foundText() {
        if (!this.matches) return '';
        const { nodes, total } = this.matches;
        if (nodes.length === 0) return 'nothing found';
        const all = this.layout.total[0];
        return `${formatCount(nodes.length)} found, ${this.formatValue(total)}, ${formatShare(total, all)}`;
    }

    /** Draw the panel that is open, and the bar below. */
    drawPanel() {
        const { tree, names, costs, state } = this;
        if (state.tab === 'flame') this.flame.draw();
        if (state.tab === 'table') {
            // Of folded recursion the lines would be lost.
            const isPlain = !state.isInverted && !state.foldsRecursion;
            const plain = isPlain
                ? tree
                : buildTree(this.model, { ...state, isInverted: false, foldsRecursion: false });
            const shown = isPlain ? costs : this.plainCosts(plain);
            this.table.show(plain, shown, this.matches ? this.matches.frames : null);
        }
        showDetails(this, this.flame.selected, (node) => this.zoom(node));
    }

    /** The table's numbers where the graph is another tree. @param {Tree} plain */
    plainCosts(plain) {
        const ownBytes = ownCosts(this.model, plain, this.rows.bytes);
        return {
            ownBytes,
            totalBytes: totalCosts(plain, ownBytes),
            ownAllocations: ownCosts(this.model, plain, this.rows.allocations),
        };
    }

    /** Tell the controls, and keep the state in the address. */
    tell() {
        for (const watcher of this.watchers) watcher();
        const node = hashPath(this.tree, this.names, this.flame.zoomed);
        const link = formatLink(stateFields(this.model, this.state, node));
        if (link === (location.hash || '#')) return;
        try {
            history.replaceState(null, '', link);
        } catch {
            // A page inside another page may have no address: then there is no link to keep.
        }
    }

    /** @param {number} node */
    labelOf(node) {
        const frame = this.tree.frame[node];
        if (frame >= 0 && this.state.label === 'place') {
            return this.names.placeOf(frame) || this.names.functionOf(frame);
        }
        if (frame >= 0 && this.state.label === 'source') {
            return this.names.sourceOf(frame) || this.names.functionOf(frame);
        }
        return this.names.titleOf(frame);
    }

    /** What stands at a box's end where there is room. @param {number} node */
    asideOf(node) {
        return this.state.label === 'function' ? this.names.asideOf(this.tree.frame[node]) : '';
    }

    /** @param {number} node */
    sizeOf(node) {
        return this.formatValue(this.layout.total[node]);
    }

    /** @param {number} value in the unit of the graph */
    formatValue(value) {
        return this.state.metric === 'bytes' ? formatBytes(value) : formatCount(value);
    }

    /**
     * @param {number} node
     * @param {PointerEvent | null} event
     */
    hover(node, event) {
        if (node < 0 || !event) byId('tip').hidden = true;
        else showTip(this, node, event);
    }

    /** @param {number} node */
    zoom(node) {
        this.flame.zoom(node);
        this.select(this.flame.zoomed);
        this.tell();
    }

    /** @param {number} node */
    select(node) {
        byId('tip').hidden = true;
        this.flame.selected = node;
        this.flame.reveal(node);
        this.drawPanel();
        byId('speak').textContent = spokenNode(this.tree, this.names, this.costs, node);
    }

    /** Go to the next or previous match. @param {number} direction */
    goToMatch(direction) {
        const nodes = this.matches ? this.matches.nodes : [];
        if (nodes.length === 0) return;
        const { selected } = this.flame;
        let at = nodes.findIndex((node) => node >= selected);
        if (at < 0) at = direction > 0 ? 0 : nodes.length - 1;
        else if (nodes[at] === selected || direction < 0) at += direction;
        const node = nodes[(at + nodes.length) % nodes.length];
        const { from, to } = this.flame;
        const { left, total } = this.layout;
        if (left[node] < from || left[node] + total[node] > to) this.flame.zoom(0);
        this.select(node);
    }

    /** Show the largest box of a frame. @param {number} frame */
    showFrame(frame) {
        const { tree, names, layout } = this;
        const { frames } = this.model;
        let best = 0;
        let most = 0;
        for (let node = 1; node < tree.count; node++) {
            const other = tree.frame[node];
            const isSame =
                frames.function[other] === frames.function[frame] &&
                frames.file[other] === frames.file[frame];
            if (isSame && layout.total[node] > most) {
                best = node;
                most = layout.total[node];
            }
        }
        this.openTab('flame');
        this.zoom(best);
        byId('speak').textContent = `zoomed to ${names.functionOf(frame)}`;
    }

    /** @param {string} tab */
    openTab(tab) {
        this.state.tab = tab;
        this.showTab();
        this.flame.resize();
        this.drawPanel();
        this.tell();
    }

    /** Show the panel of the state's tab, without what is in it. */
    showTab() {
        const { tab } = this.state;
        for (const name of TABS) {
            byId('tab-' + name).setAttribute('aria-selected', String(name === tab));
            byId('tab-' + name).tabIndex = name === tab ? 0 : -1;
            byId('panel-' + name).hidden = name !== tab;
        }
        byId('inverted').hidden = byId('origins').hidden = tab !== 'flame';
        byId('runtime').hidden = tab === 'info' || !this.hasRuntime;
        byId('recursion').hidden = tab !== 'flame' || !this.hasRecursion;
        byId('tip').hidden = true;
    }

    /** Label boxes by the next of function, place, source line. */
    nextLabel() {
        const at = LABELS.indexOf(this.state.label);
        this.state.label = LABELS[(at + 1) % LABELS.length];
        this.flame.draw();
        this.tell();
        byId('speak').textContent = `boxes show the ${this.state.label}`;
    }

    copyStack() {
        const text = stackText(this.tree, this.names, this.flame.selected);
        if (text && navigator.clipboard) {
            navigator.clipboard.writeText(text).then(
                () => (byId('speak').textContent = 'stack copied'),
                () => (byId('speak').textContent = 'the browser did not allow to copy'),
            );
        }
    }

    /** Say what the timeline's pointer stands on. @param {number} sample */
    readTime(sample) {
        const { time, heap, blocks, rss, count } = this.model.samples;
        byId('reading').textContent =
            sample < 0 || sample >= count
                ? ''
                : `${formatTime(time[sample])} · heap ${formatBytes(heap[sample])} in ` +
                  `${formatCount(blocks[sample])} blocks` +
                  (rss[sample] > 0 ? ` · RSS ${formatBytes(rss[sample])}` : '');
    }

    /** @param {boolean} isDark */
    paint(isDark) {
        this.isDark = isDark;
        document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
        const palette = new Palette(this.names, isDark);
        this.palette = palette;
        this.flame.paint(palette);
        this.timeline.paint(palette);
    }

    /** Draw everything again, for another size or theme. */
    redraw() {
        this.timeline.resize();
        this.timeline.draw();
        this.flame.resize();
        if (this.state.tab === 'flame') this.flame.draw();
    }

    /** @returns {Set<number>} families of allocators that occur */
    families() {
        const families = new Set();
        for (const { number } of this.model.meta.allocators) families.add(familyOf(number));
        return families;
    }
}
