// @ts-check
// The page's elements. Text goes in as text only: nothing here can make markup of it.

/**
 * @param {string} id
 * @returns {any} the element; the page has it
 */
export function byId(id) {
    const found = document.getElementById(id);
    if (!found) throw new Error('no element ' + id);
    return found;
}

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 * @returns {HTMLElement}
 */
export function makeElement(tag, attributes = {}, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
}

/**
 * Give a canvas as many pixels as the screen has where it stands.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width in CSS pixels
 * @param {number} height in CSS pixels
 * @returns {CanvasRenderingContext2D} that draws in CSS pixels
 */
export function fitCanvas(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    const pixels = [
        Math.max(1, Math.round(width * scale)),
        Math.max(1, Math.round(height * scale)),
    ];
    if (canvas.width !== pixels[0]) canvas.width = pixels[0];
    if (canvas.height !== pixels[1]) canvas.height = pixels[1];
    const context = /** @type {CanvasRenderingContext2D} */ (
        canvas.getContext('2d', { alpha: false })
    );
    context.setTransform(scale, 0, 0, scale, 0, 0);
    return context;
}

/** The face of the drawings' texts. */
export const FONT_FACE = 'system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif';
