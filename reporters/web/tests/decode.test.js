import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VarintReader, decodeBase64, unpackLz4 } from '../src/decode.js';

test('base64 is decoded with and without padding', () => {
    assert.deepEqual([...decodeBase64('')], []);
    assert.deepEqual([...decodeBase64('AP8Q')], [0, 255, 16]);
    assert.deepEqual([...decodeBase64('AP8=')], [0, 255]);
    assert.deepEqual([...decodeBase64('AA==')], [0]);
});

test('an LZ4 block of literals only is copied', () => {
    assert.deepEqual([...unpackLz4(Uint8Array.from([0x30, 1, 2, 3]), 3)], [1, 2, 3]);
    assert.deepEqual([...unpackLz4(new Uint8Array(0), 0)], []);
});

test('an overlapping match repeats its pattern', () => {
    // Literals 1 2, then 9 bytes from 2 back, then the literal 7.
    const packed = Uint8Array.from([0x25, 1, 2, 2, 0, 0x10, 7]);
    assert.deepEqual([...unpackLz4(packed, 12)], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 7]);
});

test('lengths above 15 and above 270 go over several bytes', () => {
    const literals = Array.from({ length: 300 }, (_, i) => i % 251);
    const packed = Uint8Array.from([0xff, 255, 30, ...literals, 44, 1, 255, 11, 0x10, 9]);
    const out = unpackLz4(packed, 300 + 285 + 1);
    assert.deepEqual([...out.subarray(0, 300)], literals);
    assert.deepEqual([...out.subarray(300, 585)], literals.slice(0, 285));
    assert.equal(out[585], 9);
});

test('a damaged LZ4 block is refused, never read out of bounds', () => {
    const packed = [0x25, 1, 2, 2, 0, 0x10, 7];
    for (let cut = 0; cut < packed.length; cut++) {
        assert.throws(() => unpackLz4(Uint8Array.from(packed.slice(0, cut)), 12), /d/);
    }
    assert.throws(() => unpackLz4(Uint8Array.from([0x15, 1, 2, 0, 0x10, 7]), 12), /damaged/);
    assert.throws(() => unpackLz4(Uint8Array.from([0x15, 1, 0, 0, 0x10, 7]), 12), /damaged/);
    assert.throws(() => unpackLz4(Uint8Array.from(packed), 11), /damaged/);
    assert.throws(() => unpackLz4(Uint8Array.from(packed), 13), /cut off/);
});

test('varints are read up to 2^53', () => {
    const reader = new VarintReader(
        Uint8Array.from([0, 127, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    );
    assert.deepEqual([reader.next(), reader.next(), reader.next()], [0, 127, 128]);
    assert.equal(reader.next(), Number.MAX_SAFE_INTEGER);
});

test('a varint that is cut off is refused', () => {
    assert.throws(() => new VarintReader(Uint8Array.from([0x80])).next(), /cut off/);
});

test('folded numbers keep their sign', () => {
    const reader = new VarintReader(Uint8Array.from([0, 1, 2, 3, 0xff, 1]));
    const read = Array.from({ length: 5 }, () => reader.nextFolded());
    assert.deepEqual(read, [0, -1, 1, -2, -128]);
});
