// @ts-check
// The flame graph as an SVG file: the same boxes, as wide as on the screen, down to its last row.

import { ROW_PIXELS } from './flame.js';

/** @typedef {import('./app.js').App} App */

const LEAST_PIXELS = 0.75;
const TEXT_PIXELS = 24;
const INSET = 5;
const CHARACTER_PIXELS = 7;

/** @param {string} text */
export function escapeXml(text) {
    return text
        .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
        .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd');
}

/** @param {number} value */
function round(value) {
    return String(Math.round(value * 10) / 10);
}

/**
 * @param {App} app
 * @param {number} node
 * @param {{x: number, y: number, width: number}} box
 */
function boxText(app, node, { x, y, width }) {
    const frame = app.tree.frame[node];
    const title = [app.names.functionOf(frame), app.names.placeOf(frame), app.sizeOf(node)];
    const characters = Math.floor((width - 2 * INSET) / CHARACTER_PIXELS);
    const label = `${app.labelOf(frame)}  ${app.sizeOf(node)}`;
    const shown =
        [...label].length <= characters
            ? label
            : [...label].slice(0, characters - 1).join('') + '…';
    const text =
        width < TEXT_PIXELS || characters < 3
            ? ''
            : `<text x="${round(x + INSET)}" y="${y + 14}">${escapeXml(shown)}</text>`;
    return (
        `<g><title>${escapeXml(title.filter(Boolean).join('  '))}</title>` +
        `<rect x="${round(x)}" y="${y}" width="${round(width > 2 ? width - 1 : width)}" ` +
        `height="${ROW_PIXELS - 1}" fill="${app.colorOf(node)}"/>${text}</g>`
    );
}

/**
 * @param {App} app
 * @param {string} caption
 * @returns {string}
 */
export function drawPicture(app, caption) {
    const { tree, layout, flame, palette } = app;
    const width = Math.max(600, flame.width);
    const scale = width / (flame.to - flame.from || 1);
    const head = 28;
    const height = flame.rows * ROW_PIXELS + head;
    const boxes = [];
    for (let node = 0; node < tree.count;) {
        const left = (layout.left[node] - flame.from) * scale;
        const right = left + layout.total[node] * scale;
        if (right <= 0 || left >= width || right - left < LEAST_PIXELS) {
            node = tree.end[node];
            continue;
        }
        const x = Math.max(0, left);
        const row = app.state.isUpward ? flame.rows - 1 - tree.depth[node] : tree.depth[node];
        const y = head + row * ROW_PIXELS;
        boxes.push(boxText(app, node, { x, y, width: Math.min(width, right) - x }));
        node++;
    }
    return (
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
        `viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="${palette.ink}">` +
        `<rect width="${width}" height="${height}" fill="${palette.panel}"/>` +
        `<text x="${INSET}" y="19" font-size="14">${escapeXml(caption)}</text>\n` +
        boxes.join('\n') +
        '\n</svg>\n'
    );
}
