// @ts-check
// Numbers and places as people read them; sizes as the text reports write them.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/**
 * @param {number} value
 * @returns {string} with three significant digits
 */
function threeDigits(value) {
    if (value >= 99.95) return value.toFixed(0);
    return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/**
 * @param {number} bytes
 * @returns {string} such as "1.31 GiB"
 */
export function formatBytes(bytes) {
    let value = Math.abs(bytes);
    let unit = 0;
    while (value >= 1023.5 && unit < UNITS.length - 1) {
        value /= 1024;
        unit++;
    }
    const digits = unit === 0 ? value.toFixed(0) : threeDigits(value);
    return `${bytes < 0 ? '-' : ''}${digits} ${UNITS[unit]}`;
}

/** @param {number} bytes @returns {string} with its sign, such as "+1.31 MiB" or "-12 B" */
export function formatChange(bytes) {
    return `${bytes > 0 ? '+' : ''}${formatBytes(bytes)}`;
}

/**
 * @param {number} count
 * @returns {string} such as "41,203"
 */
export function formatCount(count) {
    return Math.round(count)
        .toString()
        .replace(/\B(?=(\d{3})+$)/g, ',');
}

/**
 * @param {number} part
 * @param {number} whole
 * @returns {string} such as "41.5%"
 */
export function formatShare(part, whole) {
    if (!(whole > 0)) return '0%';
    const percent = (100 * part) / whole;
    if (percent > 0 && percent < 0.05) return '<0.1%';
    return `${percent.toFixed(1)}%`;
}

/**
 * @param {number} ns
 * @returns {string} such as "250 ms", "19.1 s", "2m05s"
 */
export function formatTime(ns) {
    if (ns >= 3600e9) {
        const minutes = Math.round(ns / 60e9);
        return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`;
    }
    if (ns >= 59.95e9) {
        const seconds = Math.round(ns / 1e9);
        return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
    }
    if (ns >= 1e9) return `${threeDigits(ns / 1e9)} s`;
    if (ns >= 1e6) return `${threeDigits(ns / 1e6)} ms`;
    return ns === 0 ? '0 s' : `${threeDigits(ns / 1e3)} us`;
}

/**
 * @param {string} text of a size or time
 * @returns {string} without the zeros that say nothing on an axis: "1.5 s", "20 MiB"
 */
export function trimZeros(text) {
    return text.replace(/\.(\d*?)0+(?= )/, (_, digits) => (digits ? '.' + digits : ''));
}

/**
 * Shorten a file's path to what tells it apart: inside site-packages, the standard library or the
 * program's directory the rest of the path, else its last parts.
 * @param {string} file
 * @param {string} directory the program's, or ''
 */
export function shortenPath(file, directory) {
    const inLibrary =
        file.match(/\/(?:site|dist)-packages\/(.+)$/) ?? file.match(/\/lib\/python3[^/]*\/(.+)$/);
    if (inLibrary) return inLibrary[1];
    if (directory && directory !== '/' && file.startsWith(directory + '/')) {
        return file.slice(directory.length + 1);
    }
    const parts = file.split('/');
    return parts.length > 4 ? '…/' + parts.slice(-3).join('/') : file;
}
