// @ts-check
// Texts that fit into boxes. Widths are summed from those of single characters: asking the canvas
// for every label would take longer than drawing them.

export class Labels {
    /** @param {CanvasRenderingContext2D} context with the font set */
    constructor(context) {
        this.context = context;
        /** @type {Map<string, number>} */
        this.widths = new Map();
        this.dots = this.widthOf('…');
    }

    /** @param {string} character */
    widthOf(character) {
        let width = this.widths.get(character);
        if (width === undefined) {
            width = this.context.measureText(character).width;
            this.widths.set(character, width);
        }
        return width;
    }

    /** @param {string} text */
    measure(text) {
        let width = 0;
        for (const character of text) width += this.widthOf(character);
        return width;
    }

    /**
     * @param {string} text
     * @param {number} room
     * @returns {string} the text, or its beginning and dots, or '' where that says nothing
     */
    cut(text, room) {
        let width = 0;
        let end = 0;
        let fitting = 0;
        for (const character of text) {
            width += this.widthOf(character);
            end += character.length;
            if (width + this.dots <= room) fitting = end;
            if (width > room) return fitting >= 2 ? text.slice(0, fitting) + '…' : '';
        }
        return text;
    }
}
