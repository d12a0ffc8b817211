// @ts-check
// Round numbers for axes.

/**
 * @param {number} most
 * @param {number} count about how many are wanted
 * @returns {number[]} from 0 up to `most`, in steps of 1, 2 or 5 times a power of two or ten
 */
export function byteTicks(most, count) {
    if (!(most > 0)) return [0];
    let step = 1;
    while (most / (step * 1024) >= count) step *= 1024;
    for (const factor of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024]) {
        if (most / (step * factor) <= count) {
            step *= factor;
            break;
        }
    }
    return multiples(step, most);
}

/**
 * @param {number} most nanoseconds
 * @param {number} count
 */
export function timeTicks(most, count) {
    if (!(most > 0)) return [0];
    const minute = 60e9;
    const long = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1440].map((minutes) => minutes * minute);
    const short = [10e9, 15e9, 30e9];
    let step = 0;
    for (let power = 1; power <= 1e9 && !step; power *= 10) {
        for (const factor of [1, 2, 5]) {
            if (!step && most / (power * factor) <= count) step = power * factor;
        }
    }
    for (const candidate of [...short, ...long]) {
        if (!step && most / candidate <= count) step = candidate;
    }
    return multiples(step || most / count, most);
}

/**
 * @param {number} most
 * @param {number} count
 * @returns {number[]} whole numbers in steps of 1, 2 or 5 times a power of ten
 */
export function countTicks(most, count) {
    let step = 1;
    for (let power = 1; most / step > count; power *= 10) {
        for (const factor of [1, 2, 5]) if (most / step > count) step = power * factor;
    }
    return multiples(step, most);
}

/**
 * @param {number} step
 * @param {number} most
 */
function multiples(step, most) {
    const ticks = [];
    for (let i = 0; i * step <= most * 1.0001; i++) ticks.push(i * step);
    return ticks;
}
