// @ts-check
// The page's data sections: base64, then one LZ4 block, then columns of varints.

/**
 * @param {string} text base64
 * @returns {Uint8Array}
 */
export function decodeBase64(text) {
    const native = /** @type {any} */ (Uint8Array).fromBase64;
    if (native) return native.call(Uint8Array, text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

/**
 * Unpack one LZ4 block. Whatever is wrong with it, nothing is read or written out of bounds.
 * @param {Uint8Array} packed
 * @param {number} size bytes once unpacked
 * @returns {Uint8Array}
 */
export function unpackLz4(packed, size) {
    const out = new Uint8Array(size);
    let at = 0;
    let end = 0;

    /** @param {number} length */
    function longLength(length) {
        let more = 255;
        while (more === 255 && at < packed.length) {
            more = packed[at++];
            length += more;
        }
        return length;
    }

    while (at < packed.length) {
        const token = packed[at++];
        let length = token >> 4;
        if (length === 15) length = longLength(length);
        if (at + length > packed.length || end + length > size) throw new Error('damaged data');
        out.set(packed.subarray(at, at + length), end);
        at += length;
        end += length;
        if (at >= packed.length) break;
        const distance = packed[at] | (packed[at + 1] << 8);
        at += 2;
        length = token & 15;
        if (length === 15) length = longLength(length);
        length += 4;
        if (distance === 0 || distance > end || end + length > size)
            throw new Error('damaged data');
        if (distance >= length) {
            out.copyWithin(end, end - distance, end - distance + length);
            end += length;
        } else {
            // The copy reads what it writes: a pattern that repeats.
            for (const stop = end + length; end < stop; end++) out[end] = out[end - distance];
        }
    }
    if (end !== size) throw new Error('data cut off');
    return out;
}

/** Reads varints one behind the other. Numbers above 2^53 lose their lowest bits. */
export class VarintReader {
    /** @param {Uint8Array} bytes */
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    /** @returns {number} */
    next() {
        const bytes = this.bytes;
        let value = bytes[this.at++];
        if (value < 128) return value;
        value -= 128;
        for (let factor = 128; ; factor *= 128) {
            const byte = bytes[this.at++];
            if (byte === undefined) throw new Error('data cut off');
            if (byte < 128) return value + byte * factor;
            value += (byte - 128) * factor;
        }
    }

    /**
     * A signed number: 0, -1, 1, -2 are written as 0, 1, 2, 3.
     * @returns {number}
     */
    nextFolded() {
        const value = this.next();
        return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }

    /**
     * @template {Uint32Array | Uint16Array | Uint8Array | Float64Array} T
     * @param {T} column filled from its first to its last element
     * @returns {T}
     */
    fill(column) {
        const { bytes } = this;
        const { length } = column;
        let { at } = this;
        for (let i = 0; i < length; i++) {
            // Most are of one byte.
            const value = bytes[at];
            if (value < 128) {
                column[i] = value;
                at++;
            } else {
                this.at = at;
                column[i] = this.next();
                at = this.at;
            }
        }
        this.at = at;
        return column;
    }
}
