/**
 * Memory for secrets. What is smaller than 65 bytes V8 would otherwise keep on its own heap, where the garbage collector moves
 * it about, and native code that asks for it has it moved out: the bytes stay where they have been, and whoever zeroes them
 * reaches the last place alone.
 */

/**
 * @param {number} size - bytes
 * @returns {Buffer} zeros, in one place until they are given up
 */
export const secretBytes = (size) => Buffer.from(new ArrayBuffer(size))
