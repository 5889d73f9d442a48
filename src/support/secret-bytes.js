/**
 * Memory for secrets. V8 would keep buffers of up to 64 bytes on its own heap, where the garbage collector moves them about, and
 * from where they are moved out when native code asks for them: the bytes stay in each place where they have been, and whoever
 * zeroes them reaches only the last one.
 */

/**
 * @param {number} size - bytes
 * @returns {Buffer} zeros, in one place until they are given up
 */
export const secretBytes = (size) => Buffer.from(new ArrayBuffer(size))
