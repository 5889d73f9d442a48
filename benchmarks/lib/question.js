/**
 * What a question is: the unit of the suite. One file asks one question of some contenders; the runner asks it in
 * rounds (A B A B …), each time in a new child process.
 */

/**
 * @typedef {object} RunOptions
 * @property {boolean} isQuick - small figures, to see that everything works; its results mean nothing
 * @property {number} messages - in the large mailbox
 * @property {number} users - accounts of the IMAP servers
 * @property {number} seed
 * @property {number} rounds
 * @property {boolean} withDovecot - where it is installed
 * @property {boolean} withDovecotCrypt - its encrypting profile as well
 * @property {boolean} withAegis - Letterlock's other cipher as well
 *
 * @typedef {object} Contender
 * @property {string} id
 * @property {string} label
 * @property {boolean} isPeer - the one that the ratios are against; one in each question
 * @property {Record<string, unknown>} settings - exact, as the report prints them
 *
 * @typedef {'ms' | 'µs' | 'bytes' | 'ratio' | 'count' | 'ops/s'} Unit
 *
 * @typedef {object} Line
 * @property {string} id
 * @property {string} label
 * @property {Unit} unit - of its samples
 * @property {'lower' | 'higher'} better
 * @property {string} [reference] - what somebody else has published for it, on another machine
 *
 * @typedef {object} Run
 * @property {Contender} contender
 * @property {RunOptions} options
 * @property {string} folder - of this contender: stays between `prepare` and the rounds
 * @property {number} round - from 0
 * @property {Record<string, unknown>} prepared - what `prepare` gave
 * @property {Record<string, unknown>} context - what the part gave when it was set up
 * @property {(done: number, total: number) => void} progress
 *
 * @typedef {object} Measurement
 * @property {Record<string, number[]>} samples - by line, in the line's unit; a line that does not apply is left out
 * @property {Record<string, number>} [rates] - by line: operations a second of the whole round, where samples overlap
 *   or are too short to be timed alone
 * @property {Record<string, number | string>} [facts] - what the report should say about the contender
 * @property {import('./curve.js').Curve} [curve] - what went on in the round; the report shows that of the last one
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {string} title - the question, in words
 * @property {string} notes - what exactly is done, what is checked
 * @property {string} warmUp - what happens before the first sample
 * @property {readonly Line[]} lines
 * @property {(options: RunOptions, context: Record<string, unknown>) => Contender[]} contenders
 * @property {(run: Run) => Promise<Record<string, unknown>>} [prepare] - once for each contender, not timed
 * @property {(run: Run) => Promise<Measurement> | Measurement} measure - once for each round
 * @property {(options: RunOptions) => number} [rounds] - where the question cannot be repeated as often as asked
 * @property {import('./slow-disk.js').DiskLimits} [slowDisk] - what the contenders' disk is limited to while they are
 *   measured; where the system does not allow it, the question is left out
 * @property {boolean} [needsFreshStart] - the part's servers are started anew before each measurement
 *
 * @typedef {object} Part
 * @property {string} id
 * @property {string} title
 * @property {readonly URL[]} questions - modules that export `question`
 * @property {(options: RunOptions, scratch: string, tell: (text: string) => void) => Promise<PartSetup>} [setUp]
 * @property {boolean} [canChangeNode] - runs under another Node than the pinned one too
 *
 * @typedef {object} PartSetup
 * @property {Record<string, unknown>} context - handed to every child, so plain data
 * @property {Record<string, string>} environment - more lines for the report's environment
 * @property {() => Promise<void>} [restart] - starts the servers anew; what changes by it changes in `context`
 * @property {() => Promise<void>} tearDown
 */

/**
 * Fails a benchmark whose answer is wrong: speed means nothing then.
 *
 * @param {unknown} actual
 * @param {unknown} expected
 * @param {string} what
 */
export function requireEqual(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: expected ${expected}, got ${actual}`)
}

/**
 * @param {unknown} condition
 * @param {string} what
 * @returns {asserts condition}
 */
export function require(condition, what) {
  if (!condition) throw new Error(what)
}

/** @returns {number} milliseconds on a clock that only runs forward */
export const now = () => performance.now()

/**
 * @param {() => unknown} work
 * @returns {number} milliseconds
 */
export function timed(work) {
  const start = now()
  work()
  return now() - start
}

/**
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} milliseconds
 */
export async function timedAsync(work) {
  const start = now()
  await work()
  return now() - start
}
