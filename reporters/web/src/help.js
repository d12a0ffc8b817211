// @ts-check
// The help dialog.
import { makeElement } from './dom.js';

/** @type {[string, [string, string][]][]} */
const KEYS = [
    [
        'Flame graph',
        [
            ['↑ ↓ ← →', 'select caller, callee, neighbour'],
            ['Enter, click', 'zoom to the selection'],
            ['Esc, 0', 'show everything again'],
            ['i', 'inverted: what allocated first, its callers below'],
            ['u', 'root at the bottom, or at the top'],
            ['l', 'label boxes by function, place or source line'],
            ['m', 'colour by module, kind, size, growth'],
            ['y', 'group by thread, process, allocator, module'],
            ['Ctrl+C', 'copy the stack of the selection'],
            ['Ctrl+wheel', 'zoom freely; Shift+wheel moves sideways'],
        ],
    ],
    [
        'Change what is shown',
        [
            ['f', 'focus on the selected function'],
            ['k', 'only stacks through it'],
            ['h', 'hide its box: its memory is its callers’'],
            ['d', 'remove all stacks through it'],
            ['c', 'one box for its module'],
            ['r', 'fold recursion: what calls itself is one box'],
            ['Backspace', 'take the last of these back'],
        ],
    ],
    [
        'Time',
        [
            ['drag', 'select a range; drag its edges or middle to change it'],
            ['double click', 'the whole run again'],
            ['[ ]', 'move the range'],
            ['+ -', 'shorter, longer range'],
            ['p', 'the peak'],
            ['x', 'axis of time, or of allocations'],
        ],
    ],
    [
        'Page',
        [
            ['1 to 5', 'peak, leaked, not freed, allocated, temporary'],
            ['b', 'bytes or count'],
            ['/', 'search; n and N go to the next and previous match'],
            ['g s t e', 'flame graph, callers and callees, table, tree'],
            ['o w', 'source, threads and groups'],
            ['?', 'this help'],
        ],
    ],
];

const NOTES = [
    'A box is a function; below it stand those that it called. Its width is the memory that was allocated in it and in all that it called.',
    'The graph shows one moment or range: by default the moment at which the heap was highest. Select a range above to see the highest moment in it, or what was allocated and kept there.',
    'The table holds the same numbers as text. The address of the page keeps what you see: share it with the file.',
];

/** @param {HTMLElement} dialog */
export function fillHelp(dialog) {
    const close = makeElement('button', { class: 'plain', 'aria-label': 'Close' }, '✕');
    close.addEventListener('click', () => /** @type {HTMLDialogElement} */ (dialog).close());
    const head = makeElement('div', { class: 'line' });
    head.append(
        makeElement('h2', { id: 'help-title' }, 'How to read this page'),
        makeElement('span', { class: 'grow' }),
        close,
    );
    const columns = makeElement('div', { class: 'columns' });
    for (const [title, keys] of KEYS) {
        const list = makeElement('dl');
        for (const [key, what] of keys) {
            list.append(
                makeElement('dt', {}, makeElement('kbd', {}, key)),
                makeElement('dd', {}, what),
            );
        }
        columns.append(makeElement('section', {}, makeElement('h3', {}, title), list));
    }
    dialog.replaceChildren(head, ...NOTES.map((text) => makeElement('p', {}, text)), columns);
}
