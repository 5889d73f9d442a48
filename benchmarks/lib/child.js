/**
 * A contender's own process: takes one job from the runner, does it, tells the outcome and ends. So no contender meets
 * compiled code, caches or a heap of the one before.
 */

/**
 * @typedef {object} Job
 * @property {string} url - of the question's module
 * @property {'prepare' | 'measure'} phase
 * @property {Omit<import('./question.js').Run, 'progress'>} run
 *
 * @typedef {{ kind: 'progress', done: number, total: number } | { kind: 'result', result: unknown }
 *   | { kind: 'failure', text: string }} Report
 */

/** @param {Report} report */
const tell = (report) =>
  new Promise((resolve) => process.send?.(report, undefined, undefined, resolve))

/** Progress is told at most once in so many ms: the telling must not be measured. */
const PROGRESS_MS = 200

/**
 * @param {Job} job
 * @returns {Promise<unknown>}
 */
async function work({ url, phase, run }) {
  const { question } = /** @type {{ question: import('./question.js').Question }} */ (
    await import(url)
  )
  let toldAt = 0
  const progress = (/** @type {number} */ done, /** @type {number} */ total) => {
    if (performance.now() - toldAt < PROGRESS_MS) return
    toldAt = performance.now()
    tell({ kind: 'progress', done, total })
  }
  if (phase === 'measure') return await question.measure({ ...run, progress })
  return await question.prepare?.({ ...run, progress })
}

// The runner is gone, and nobody waits for the answer.
process.once('disconnect', () => process.exit(1))

process.once('message', async (/** @type {Job} */ job) => {
  try {
    await tell({ kind: 'result', result: await work(job) })
    process.exit(0)
  } catch (error) {
    await tell({ kind: 'failure', text: error instanceof Error ? `${error.stack}` : `${error}` })
    process.exit(1)
  }
})
