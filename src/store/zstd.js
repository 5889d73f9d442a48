/**
 * zstd frames with one context for all of them. `zlib.zstdCompressSync` and its counterpart make a context, a stream
 * object and their buffers for each call, which for a mail of usual size costs more than the work itself (measured for
 * 10 KB: 34 against 15 us to decompress, 70 against 44 us to compress).
 *
 * Node has no public call for this, so the stream's own handle is used where it is as expected (the runtime is pinned);
 * otherwise, and whenever anything about a result is odd, the public functions do the work and throw what is to be thrown.
 */
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync
} from 'node:zlib'
import { mailDictionary } from './mail-dictionary.js'

/**
 * @typedef {object} Handle - of Node's zlib streams
 * @property {(flush: number, input: Buffer, inputAt: number, inputBytes: number, output: Buffer, outputAt: number,
 *   outputBytes: number) => void} writeSync - leaves in the state how much of output and input is left
 *
 * @typedef {object} Context
 * @property {Handle} handle
 * @property {Uint32Array} left - output, input, bytes
 * @property {() => boolean} hasFailed
 *
 * @typedef {object} Frames - of one kind, whose contexts are no use for others
 * @property {Readonly<Record<number, number>>} params - to compress with
 * @property {() => Buffer | undefined} dictionary
 * @property {Context | null | undefined} compressor - undefined: not made yet; null: cannot be made
 * @property {Context | null | undefined} decompressor
 */

/** Fast, and within some percent of what slower levels reach on mail. */
const LEVEL = 3

/** @type {Frames} */
const PLAIN_FRAMES = {
  params: Object.freeze({ [constants.ZSTD_c_compressionLevel]: LEVEL }),
  dictionary: () => undefined,
  compressor: undefined,
  decompressor: undefined
}

/**
 * Of short mail, by the dictionary of mail-dictionary.js. The larger hash tables that zstd would choose for it have to be copied
 * for many a frame: half as long again to compress, for less than 1 % of the bytes.
 *
 * @type {Frames}
 */
export const MAIL_FRAMES = {
  params: Object.freeze({
    [constants.ZSTD_c_compressionLevel]: LEVEL,
    [constants.ZSTD_c_hashLog]: 14,
    [constants.ZSTD_c_chainLog]: 14
  }),
  dictionary: mailDictionary,
  compressor: undefined,
  decompressor: undefined
}

/** Smallest output buffer that zlib takes, bytes. */
const MIN_OUTPUT_BYTES = 64

/** What a chunk of a message may become at most, bytes; what is larger gets an output of its own. */
const SCRATCH_BYTES = frameBound(128 * 1024)

/**
 * Where frames are made, one after the other: nobody knows beforehand how short one gets, and what is kept of a message
 * is to take as much memory as it says.
 *
 * @type {Buffer | undefined}
 */
let scratch

/**
 * @param {import('node:stream').Transform} stream
 * @returns {Context | null}
 */
function contextOf(stream) {
  const { _handle: handle, _writeState: left } =
    /** @type {{ _handle?: Handle, _writeState?: Uint32Array }} */ (/** @type {unknown} */ (stream))
  // The failure is found by what comes out; without a listener it would end the process.
  stream.on('error', () => {})
  if (typeof handle?.writeSync !== 'function' || left?.length !== 2) return null
  return { handle, left, hasFailed: () => stream.destroyed }
}

/**
 * @param {Frames} frames
 * @returns {Context | null}
 */
function decompressorOf(frames) {
  if (frames.decompressor === undefined)
    frames.decompressor = contextOf(createZstdDecompress({ dictionary: frames.dictionary() }))
  return frames.decompressor
}

/**
 * @param {Context} context
 * @param {number} flush
 * @param {Buffer} input
 * @param {Buffer} output
 * @param {number} [outputAt] - where in it
 * @param {number} [room] - from there, bytes
 * @returns {number} bytes of output, or -1 when it did not fit or the input was not one whole frame
 */
function run(
  { handle, left, hasFailed },
  flush,
  input,
  output,
  outputAt = 0,
  room = output.length
) {
  handle.writeSync(flush, input, 0, input.length, output, outputAt, room)
  const outputLeft = /** @type {number} */ (left[0])
  return hasFailed() || left[1] !== 0 || outputLeft === 0 ? -1 : room - outputLeft
}

/**
 * @param {number} bytes - of the input
 * @returns {number} bytes that its frame has at most; a frame is never much larger than its input
 */
function frameBound(bytes) {
  return bytes + Math.ceil(bytes / 128) + 256
}

/**
 * @param {Buffer} raw - not empty
 * @param {Frames} [frames]
 * @returns {Buffer} one frame, which holds the size of its content; its memory is its own, and no more than it
 */
export function compressFrame(raw, frames = PLAIN_FRAMES) {
  const room = frameBound(raw.length)
  const options = { params: frames.params, dictionary: frames.dictionary() }
  if (frames.compressor === undefined) frames.compressor = contextOf(createZstdCompress(options))
  if (frames.compressor) {
    const output =
      room > SCRATCH_BYTES
        ? Buffer.allocUnsafeSlow(room)
        : (scratch ??= Buffer.allocUnsafeSlow(SCRATCH_BYTES))
    const bytes = run(frames.compressor, constants.ZSTD_e_end, raw, output, 0, room)
    if (bytes > 0) return cutOut(output, bytes)
    frames.compressor = undefined
  }
  const frame = zstdCompressSync(raw, { ...options, chunkSize: room })
  return cutOut(frame, frame.length)
}

/**
 * @param {Buffer} output - of which nothing is left
 * @param {number} bytes - of it that are wanted
 * @returns {Buffer} in memory of its own
 */
function cutOut(output, bytes) {
  const frame = Buffer.allocUnsafeSlow(bytes)
  output.copy(frame, 0, 0, bytes)
  output.fill(0, 0, bytes)
  return frame
}

/**
 * @param {Buffer} frame
 * @param {{ maxBytes: number, expectedBytes?: number }} size - more than `maxBytes` is an error; what is expected is made
 *   room for at once
 * @param {Frames} [frames] - of which it is one
 * @returns {Buffer} its content; its memory is its own
 * @throws {Error} of zlib, when it is no whole frame or too large
 */
export function decompressFrame(
  frame,
  { maxBytes, expectedBytes = maxBytes },
  frames = PLAIN_FRAMES
) {
  // One more than needed: an output that is just full might not be all of it.
  const room = Math.max(Math.min(expectedBytes, maxBytes) + 1, MIN_OUTPUT_BYTES)
  const decompressor = decompressorOf(frames)
  if (decompressor) {
    const output = Buffer.allocUnsafeSlow(room)
    const bytes = run(decompressor, constants.ZSTD_e_continue, frame, output)
    if (bytes >= 0 && bytes === expectedBytes) return output.subarray(0, bytes)
    // What is left inside it of this frame must not come out with the next one.
    frames.decompressor = undefined
  }
  const dictionary = frames.dictionary()
  return zstdDecompressSync(frame, { dictionary, maxOutputLength: maxBytes, chunkSize: room })
}

/**
 * As `decompressFrame`, into a buffer that is there.
 *
 * @param {Buffer} frame
 * @param {Buffer} target - with room for `size` bytes and one more
 * @param {number} at - where in it
 * @param {number} size - bytes that the frame's content should have
 * @param {Frames} [frames] - of which it is one
 * @returns {boolean} false: it is no whole frame of that size; what was written then is worth nothing
 */
export function decompressInto(frame, target, at, size, frames = PLAIN_FRAMES) {
  // Before anything is caught: a dictionary that is not there is no damage to the frame.
  const decompressor = decompressorOf(frames)
  if (decompressor && size + 1 >= MIN_OUTPUT_BYTES) {
    const bytes = run(decompressor, constants.ZSTD_e_continue, frame, target, at, size + 1)
    if (bytes === size) return true
    frames.decompressor = undefined
  }
  let content
  try {
    content = decompressFrame(frame, { maxBytes: size }, frames)
  } catch {
    return false
  }
  content.copy(target, at)
  return content.length === size
}
