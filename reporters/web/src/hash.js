// @ts-check
// One hash for all that needs a number for a text: colours, links.

/**
 * FNV-1a over UTF-16 units.
 * @param {string} text
 * @param {number} [seed]
 * @returns {number} 32 bits
 */
export function hashText(text, seed = 0x811c9dc5) {
    let hash = seed;
    for (let i = 0; i < text.length; i++) {
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
    return hash >>> 0;
}
