// @ts-check
// What is shown, as files: pictures, a table, folded stacks. All is made in the page.
import { byId } from './dom.js';
import { connectMenu } from './menu.js';
import { drawPicture } from './picture.js';

/** @typedef {import('./app.js').App} App */

/** @param {string} text @returns {string} a field of CSV */
function csvField(text) {
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/**
 * The rows of the table with exact numbers.
 * @param {App} app
 * @returns {string}
 */
export function tableCsv(app) {
    const { names, table } = app;
    const { line } = app.model.frames;
    const lines = ['function,file,line,total_bytes,own_bytes,allocations'];
    for (const row of table.rows()) {
        const at = table.byLine && line[row.frame] ? String(line[row.frame]) : '';
        const fields = [names.functionOf(row.frame), names.fileOf(row.frame), at];
        lines.push([...fields.map(csvField), row.total, row.own, row.allocations].join(','));
    }
    return lines.join('\r\n') + '\r\n';
}

/**
 * One line a stack: its functions, those that called first, and what it holds itself.
 * @param {App} app
 * @returns {string}
 */
export function foldedStacks({ tree, names, layout }) {
    const lines = [];
    /** @type {string[]} texts of the nodes above */
    const path = [];
    for (let node = 1; node < tree.count; node++) {
        const frame = tree.frame[node];
        const place = names.placeOf(frame);
        const title = place ? `${names.functionOf(frame)} (${place})` : names.functionOf(frame);
        path.length = tree.depth[node] - 1;
        path.push(title.replace(/[;\r\n]/g, ' '));
        if (layout.own[node] > 0) lines.push(`${path.join(';')} ${layout.own[node]}`);
    }
    return lines.join('\n') + '\n';
}

/**
 * @param {Blob} content
 * @param {string} name
 */
function download(content, name) {
    const link = document.createElement('a');
    const address = URL.createObjectURL(content);
    link.href = address;
    link.download = name;
    link.click();
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    byId('speak').textContent = `${name} saved`;
}

/**
 * @param {string} svg
 * @param {(picture: Blob) => void} onDone
 */
function drawPng(svg, onDone) {
    const image = new Image();
    const scale = Math.max(1, window.devicePixelRatio || 1);
    image.addEventListener('load', () => {
        const canvas = document.createElement('canvas');
        // No browser draws higher ones; a deeper graph is shown smaller.
        const factor = Math.min(scale, 16000 / image.height);
        canvas.width = Math.round(image.width * factor);
        canvas.height = Math.round(image.height * factor);
        canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((picture) => {
            if (picture) onDone(picture);
        });
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

/** @param {App} app */
export function connectExport(app) {
    connectMenu('export-open', 'export-menu');
    const name = () => app.model.meta.program.replace(/[^\w.-]+/g, '_') || 'memtrack';
    const picture = () => drawPicture(app, `${app.model.meta.program}: ${byId('caption').title}`);
    const text = (/** @type {string} */ content, /** @type {string} */ type) =>
        new Blob([content], { type: `${type};charset=utf-8` });
    byId('export-svg').addEventListener('click', () =>
        download(text(picture(), 'image/svg+xml'), `${name()}.svg`),
    );
    byId('export-png').addEventListener('click', () =>
        drawPng(picture(), (content) => download(content, `${name()}.png`)),
    );
    byId('export-csv').addEventListener('click', () =>
        download(text(tableCsv(app), 'text/csv'), `${name()}.csv`),
    );
    byId('export-folded').addEventListener('click', () =>
        download(text(foldedStacks(app), 'text/plain'), `${name()}.folded`),
    );
}
