// @ts-check
// Panels that open below a button, and close again by Escape or a click elsewhere.
import { byId } from './dom.js';

/**
 * @param {string} buttonId
 * @param {string} menuId
 */
export function connectMenu(buttonId, menuId) {
    const button = byId(buttonId);
    const menu = byId(menuId);
    const show = (/** @type {boolean} */ isOpen) => {
        menu.hidden = !isOpen;
        button.setAttribute('aria-expanded', String(isOpen));
        if (!isOpen) return;
        const { left, bottom, right } = button.getBoundingClientRect();
        const width = menu.getBoundingClientRect().width;
        const isRight = left + width > window.innerWidth - 8;
        menu.style.left = `${Math.max(8, isRight ? right - width : left)}px`;
        menu.style.top = `${bottom + 4}px`;
        menu.style.maxHeight = `${window.innerHeight - bottom - 12}px`;
        menu.querySelector('button, input, select')?.focus();
    };
    button.addEventListener('click', () => show(menu.hidden));
    menu.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== 'Escape') return;
        show(false);
        button.focus();
        event.stopPropagation();
    });
    document.addEventListener('pointerdown', (event) => {
        const target = /** @type {Node} */ (event.target);
        if (!menu.hidden && !menu.contains(target) && !button.contains(target)) show(false);
    });
}
