/**
 * Standard output and standard error as a command has them: a pipe that nobody reads any longer (`| head -1`) ends no work,
 * and what could not be written is told.
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
   * A pipe takes its time; what the end of the process finds unwritten is lost.
   *
   * @returns {Promise<NodeJS.ErrnoException | null>} what kept an output from being written; a reader that went away did not
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
 * What is said this once, and must not be taken for said where it was not.
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
