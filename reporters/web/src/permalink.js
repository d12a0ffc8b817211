// @ts-check
// The state of the page in its address. A node is named by a hash of the functions and files that
// lead to it, so that a link outlives a page that is made again.
import { hashText } from './hash.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./names.js').Names} Names */

/**
 * @param {Tree} tree
 * @param {Names} names
 * @param {number} node
 * @returns {string} 8 hexadecimal digits; '' for the root
 */
export function hashPath(tree, names, node) {
    if (node <= 0) return '';
    const path = [];
    for (let at = node; at > 0; at = tree.parent[at]) path.push(at);
    let hash;
    for (const at of path.reverse()) hash = hashNode(tree, names, at, hash);
    return (hash ?? 0).toString(16).padStart(8, '0');
}

/**
 * @param {Tree} tree
 * @param {Names} names
 * @param {number} node
 * @param {number | undefined} above hash of the parent
 */
function hashNode(tree, names, node, above) {
    const frame = tree.frame[node];
    const line = frame < 0 ? 0 : names.model.frames.line[frame];
    return hashText(`${names.functionOf(frame)}\n${names.fileOf(frame)}:${line}\n`, above);
}

/**
 * @param {Tree} tree
 * @param {Names} names
 * @param {string} hash as hashPath() made it
 * @returns {number} the node, or 0 when there is none
 */
export function findPath(tree, names, hash) {
    if (!/^[0-9a-f]{8}$/.test(hash)) return 0;
    const wanted = parseInt(hash, 16);
    const hashes = new Uint32Array(tree.count);
    for (let node = 1; node < tree.count; node++) {
        const parent = tree.parent[node];
        hashes[node] = hashNode(tree, names, node, parent > 0 ? hashes[parent] : undefined);
        if (hashes[node] === wanted) return node;
    }
    return 0;
}

/**
 * @param {Record<string, string>} fields empty ones are left out
 * @returns {string} "#v=flame&m=leaks"
 */
export function formatLink(fields) {
    const parts = Object.entries(fields)
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return '#' + parts.join('&');
}

/**
 * @param {string} link
 * @returns {Record<string, string>}
 */
export function parseLink(link) {
    /** @type {Record<string, string>} */
    const fields = {};
    for (const part of link.replace(/^#/, '').split('&')) {
        const at = part.indexOf('=');
        if (at < 1) continue;
        try {
            fields[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
        } catch {
            // A link that somebody cut in the middle: the rest of it still counts.
        }
    }
    return fields;
}
