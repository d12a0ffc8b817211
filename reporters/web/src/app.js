// @ts-check
// The page at work: state, the trees and numbers that follow from it, and what shows them.
import { familyCurves, familyOf, filterRows, liveRows, sumRows } from './aggregate.js';
import { showCaption } from './caption.js';
import { Palette } from './color.js';
import { showDetails, showTip, spokenNode } from './details.js';
import { byId } from './dom.js';
import { Flame } from './flame.js';
import { formatBytes, formatChange, formatCount, formatShare, formatTime } from './format.js';
import { addGroups, groupRows } from './groups.js';
import { GroupTables } from './grouptables.js';
import { renderInfo } from './info.js';
import { Names, isSameFunction } from './names.js';
import { findPath, formatLink, hashPath } from './permalink.js';
import { Sandwich } from './sandwich.js';
import { makeMatcher, matchFrames, matchNodes } from './search.js';
import { SourcePanel } from './source.js';
import { LABELS, TABS, readState, stateFields } from './state.js';
import { Table } from './table.js';
import { Timeline } from './timeline.js';
import {
    arrangeTree,
    buildForest,
    hasNative,
    hasRecursion,
    layoutTree,
    ownCosts,
    totalCosts,
} from './tree.js';
import { TreeTable } from './treetable.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./state.js').State} State */

/** A change of these makes another tree. */
/** @type {(keyof State)[]} */
const SHAPING = ['isInverted', 'showsRuntime', 'hidesNative', 'foldsRecursion', 'groupBy', 'steps'];
/** @type {(keyof State)[]} */
const FILTERS = ['thread', 'process', 'allocator'];

export class App {
    /** @type {import('./forest.js').Forest} */
    forest;
    /** @type {Tree} */
    tree;
    /** @type {Tree | null} */
    knownPlain = null;
    /** @type {Uint8Array} */
    mask;
    /** @type {import('./tree.js').Layout} */
    layout;
    /** @type {import('./details.js').Costs} */
    costs;
    /** @type {import('./aggregate.js').RowCosts} */
    rows;
    /** @type {Float64Array | null} by node, from the range's first sample to its last */
    growth = null;
    mostGrowth = 0;
    /** @type {import('./search.js').Matches | null} */
    matches = null;
    /** @type {Palette} */
    palette;
    isPlanned = false;
    isDone = true;

    /**
     * @param {Model} model
     * @param {string} link
     */
    constructor(model, link) {
        this.model = model;
        this.names = new Names(model);
        this.groups = addGroups(model, this.names);
        const { state, node } = readState(model, link);
        this.state = state;
        this.hasRuntime = model.frames.isRuntime.includes(1);
        this.hasNative = hasNative(model);
        this.hasRecursion = hasRecursion(model);
        this.isDark = false;
        /** @type {(() => void)[]} told after every change of the state */
        this.watchers = [];
        this.flame = new Flame(byId('flame'), byId('scroller'), byId('spacer'), {
            labelOf: (at) => this.labelOf(this.tree.frame[at]),
            sizeOf: (at) => this.sizeOf(at),
            asideOf: (at) => this.asideOf(this.tree.frame[at]),
            colorOf: (at) => this.colorOf(at),
            onHover: (at, event) => this.hover(at, event),
            onClick: (at) => this.zoom(at),
        });
        this.timeline = new Timeline(byId('timeline'), model, {
            onRange: (from, to, isDone) => this.change({ from, to }, isDone),
            onHover: (sample) => this.readTime(sample),
        });
        const table = new Table(byId('panel-table'), this);
        this.table = table;
        /** @type {Record<string, {draw: () => void}>} */
        this.panels = {
            flame: this.flame,
            sandwich: new Sandwich(byId('panel-sandwich'), this),
            table,
            tree: new TreeTable(byId('panel-tree'), this),
            source: new SourcePanel(byId('panel-source'), this),
            groups: new GroupTables(byId('panel-groups'), this),
        };
        this.timeline.from = state.from;
        this.timeline.to = state.to;
        this.timeline.axis = state.axis;
        this.flame.isUpward = state.isUpward;
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
     * @param {Partial<State>} changes
     * @param {boolean} [isDone] false while it goes on changing: the address is left alone then, as
     *     browsers allow it only so many changes
     */
    change(changes, isDone = true) {
        this.isDone = isDone;
        const before = { ...this.state };
        Object.assign(this.state, changes);
        const { state, flame, timeline } = this;
        const isOther = (/** @type {keyof State} */ key) => before[key] !== state[key];
        if (SHAPING.some(isOther)) this.reshape();
        else if (FILTERS.some(isOther)) this.filter();
        flame.turn(state.isUpward);
        timeline.axis = state.axis;
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
        const { model, names, groups, state } = this;
        const grouped = groupRows(model, names, groups, state.groupBy);
        this.forest = buildForest(model, state, names, groups.modules);
        this.tree = arrangeTree(model, this.forest, { ...state, groups: grouped });
        this.knownPlain = null;
        this.flame.zoomed = this.flame.selected = 0;
        this.filter();
    }

    /** Choose the rows that the state shows. */
    filter() {
        this.mask = filterRows(this.model, this.state, this.tree.site);
        this.isFiltered = this.mask.includes(0);
        this.timeline.curves = familyCurves(this.model, this.isFiltered ? this.mask : null);
        this.timeline.forget();
    }

    /** The tree with callers first and without groups, for what shows each function's own lines. */
    plainTree() {
        const { model, names, groups, state, tree } = this;
        const isPlain = !state.isInverted && state.groupBy === '' && !state.foldsRecursion;
        if (isPlain) return tree;
        this.knownPlain ??= arrangeTree(
            model,
            buildForest(model, { ...state, foldsRecursion: false }, names, groups.modules),
            { ...state, isInverted: false },
        );
        return this.knownPlain;
    }

    /** @param {Tree} tree @returns {import('./details.js').Costs} of what is shown now */
    costsOf(tree) {
        if (tree === this.tree) return this.costs;
        const ownBytes = ownCosts(tree, this.rows.bytes);
        const ownAllocations = ownCosts(tree, this.rows.allocations);
        return {
            ownBytes,
            ownAllocations,
            totalBytes: totalCosts(tree, ownBytes),
            totalAllocations: totalCosts(tree, ownAllocations),
        };
    }

    /** Count for the state and draw. */
    recount() {
        byId('tip').hidden = true;
        const { model, tree, state } = this;
        const rows = sumRows(model, state, this.isFiltered ? this.mask : null);
        const ownBytes = ownCosts(tree, rows.bytes);
        const ownAllocations = ownCosts(tree, rows.allocations);
        const isCount = state.metric === 'count';
        this.layout = layoutTree(tree, isCount ? ownAllocations : ownBytes);
        this.costs = {
            ownBytes,
            ownAllocations,
            totalBytes: isCount ? totalCosts(tree, ownBytes) : this.layout.total,
            totalAllocations: isCount ? this.layout.total : totalCosts(tree, ownAllocations),
        };
        this.rows = rows;
        this.countGrowth();
        this.timeline.mark = rows.sample;
        this.flame.show(tree, this.layout);
        showCaption(this);
        this.timeline.draw();
    }

    /** How much more of each node is live at the range's last sample than at its first. */
    countGrowth() {
        const { model, state, tree } = this;
        this.growth = null;
        this.mostGrowth = 0;
        if (state.colorBy !== 'growth') return;
        const before = liveRows(model, state.from);
        const change = liveRows(model, state.to);
        for (let i = 0; i < change.length; i++) change[i] -= before[i];
        this.growth = totalCosts(tree, ownCosts(tree, change));
        for (const value of this.growth)
            this.mostGrowth = Math.max(this.mostGrowth, Math.abs(value));
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
        byId('hits').hidden = !this.matches || this.matches.nodes.length === 0;
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
        this.panels[this.state.tab]?.draw();
        showDetails(this, this.flame.selected);
    }

    /** Tell the controls, and keep the state in the address. */
    tell() {
        for (const watcher of this.watchers) watcher();
        if (!this.isDone) return;
        const node = hashPath(this.tree, this.names, this.flame.zoomed);
        const link = formatLink(stateFields(this.model, this.state, node));
        if (link === (location.hash || '#')) return;
        try {
            history.replaceState(null, '', link);
        } catch {
            // A page inside another page may have no address: then there is no link to keep.
        }
    }

    /** @param {number} frame */
    labelOf(frame) {
        if (frame >= 0 && this.state.label === 'place') {
            return this.names.placeOf(frame) || this.names.functionOf(frame);
        }
        if (frame >= 0 && this.state.label === 'source') {
            return this.names.sourceOf(frame) || this.names.functionOf(frame);
        }
        return this.names.titleOf(frame);
    }

    /** What stands at a box's end where there is room. @param {number} frame */
    asideOf(frame) {
        return this.state.label === 'function' ? this.names.asideOf(frame) : '';
    }

    /** @param {number} node */
    sizeOf(node) {
        const size = this.formatValue(this.layout.total[node]);
        return this.growth ? `${size} (${formatChange(this.growth[node])})` : size;
    }

    /** @param {number} value in the unit of the graph */
    formatValue(value) {
        return this.state.metric === 'bytes' ? formatBytes(value) : formatCount(value);
    }

    /** @param {number} node */
    colorOf(node) {
        const { palette, tree, layout, state } = this;
        const frame = tree.frame[node];
        if (frame < 0) return palette.root;
        if (state.colorBy === 'size')
            return palette.sizeColor(layout.total[node] / layout.total[0]);
        if (this.growth) return palette.growthColor(this.growth[node] / (this.mostGrowth || 1));
        return palette.boxColor(frame, state.colorBy === 'kind' ? 'kind' : 'module');
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

    /** Show a function's callers and callees. @param {number} frame */
    showFunction(frame) {
        if (frame < 0 || frame >= this.names.recorded) return this.openTab('sandwich');
        this.state.target = this.names.keyOf(frame);
        this.flame.selected = this.largestOf(frame);
        this.openTab('sandwich');
        byId('speak').textContent = `callers and callees of ${this.names.functionOf(frame)}`;
    }

    /** @param {number} frame @returns {number} the largest box of its function, or the root */
    largestOf(frame) {
        const { model, tree, layout } = this;
        let best = 0;
        for (let node = 1; node < tree.count; node++) {
            const isLarger = best === 0 || layout.total[node] > layout.total[best];
            if (isLarger && isSameFunction(model.frames, tree.frame[node], frame)) best = node;
        }
        return best;
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
        byId('tip').hidden = true;
    }

    /** Label boxes by the next of function, place, source line. */
    nextLabel() {
        const at = LABELS.indexOf(this.state.label);
        this.change({ label: LABELS[(at + 1) % LABELS.length] });
        byId('speak').textContent = `boxes show the ${this.state.label}`;
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
        this.panels[this.state.tab]?.draw();
    }

    /** @returns {Set<number>} families of allocators that occur */
    families() {
        const families = new Set();
        for (const { number } of this.model.meta.allocators) families.add(familyOf(number));
        return families;
    }
}
