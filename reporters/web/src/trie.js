// @ts-check
// A tree that grows by adding children; its nodes are in the order of their coming, a parent before
// its children. Typed arrays and a table of its own: a million nodes are a matter of a tenth of a second.

const LEAST_ROOM = 64;

export class Trie {
    /** @param {number} room nodes that are expected */
    constructor(room) {
        const size = 1 << Math.ceil(Math.log2(Math.max(LEAST_ROOM, room) + 1));
        this.count = 1;
        this.parent = new Int32Array(size);
        this.frame = new Int32Array(size);
        this.parent[0] = this.frame[0] = -1;
        // Numbers of nodes; 0 is free, as the root is nobody's child.
        this.slots = new Int32Array(2 * size);
    }

    /**
     * @param {number} parent
     * @param {number} frame
     * @returns {number} the slot of a child, or the free one where it belongs
     */
    slotOf(parent, frame) {
        const mask = this.slots.length - 1;
        let at = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
        at = (at ^ (at >>> 15)) & mask;
        for (let node = this.slots[at]; node !== 0; node = this.slots[at]) {
            if (this.parent[node] === parent && this.frame[node] === frame) break;
            at = (at + 1) & mask;
        }
        return at;
    }

    /**
     * @param {number} parent
     * @param {number} frame
     * @returns {number} the parent's child of that frame, which is new when there was none
     */
    child(parent, frame) {
        const at = this.slotOf(parent, frame);
        if (this.slots[at] !== 0) return this.slots[at];
        const child = this.count++;
        this.parent[child] = parent;
        this.frame[child] = frame;
        this.slots[at] = child;
        if (this.count === this.parent.length) this.grow();
        return child;
    }

    grow() {
        const { parent, frame, count } = this;
        this.parent = new Int32Array(2 * count);
        this.frame = new Int32Array(2 * count);
        this.parent.set(parent);
        this.frame.set(frame);
        this.slots = new Int32Array(4 * count);
        for (let node = 1; node < count; node++) {
            this.slots[this.slotOf(parent[node], frame[node])] = node;
        }
    }
}
