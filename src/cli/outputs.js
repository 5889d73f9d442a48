/**
 * Standard output and standard error of a command: a pipe that nobody reads any longer (`| head -1`) ends no work, and any
 * other failure to write is told.
 */

/** Both outputs of one run. */
export class Outputs {
  #streams
  /** @type {NodeJS.ErrnoException | null} */
  #failure = null

  /** @param {readonly NodeJS.WriteStream[]} streams */
  constructor(streams) {
    this.#streams = streams
    for (const stream of streams) {
      stream.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
        if (error.code !== 'EPIPE') this.#failure ??= error
      })
    }
  }

  /**
   * To be awaited before the process ends: a pipe takes its time, and what is not written by then is lost.
   *
   * @returns {Promise<NodeJS.ErrnoException | null>} why something was not written; null also where the reader has gone away
   */
  async flushed() {
    await Promise.all(this.#streams.map(flushed))
    return this.#failure
  }
}

/**
 * @param {NodeJS.WriteStream} stream
 * @returns {Promise<void>} also when nobody reads any longer
 */
function flushed(stream) {
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}

/**
 * Writes what is shown only once, and says whether that has come out.
 *
 * @param {NodeJS.WritableStream} stream
 * @param {string} text
 * @returns {Promise<void>} when it is out
 * @throws what kept it from being written; also where nobody reads
 */
export function writeOut(stream, text) {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })
}
