/**
 * Asks one question: prepares every contender, then goes round by round, contender by contender (A B A B …), so that
 * a disk or machine that is slower for a minute is slower for all.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeSlowDisk } from './slow-disk.js'
import { median, summarize } from './statistics.js'

/**
 * @typedef {import('./question.js').Contender} Contender
 * @typedef {import('./question.js').Line} Line
 * @typedef {import('./question.js').Measurement} Measurement
 * @typedef {import('./question.js').Question} Question
 * @typedef {import('./question.js').RunOptions} RunOptions
 *
 * @typedef {object} RoundFigure
 * @property {number} median
 * @property {number} count - samples
 * @property {number} [rate] - operations a second
 *
 * @typedef {object} LineResult
 * @property {string} contender - its id
 * @property {string} line - its id
 * @property {import('./statistics.js').Summary} summary - of all rounds' samples
 * @property {number} [rate] - operations a second, median of the rounds
 * @property {number | null} ratio - how many times as good as the peer: median over the rounds of the ratios in one
 *   round; null where there is nothing to compare with
 * @property {RoundFigure[]} rounds
 *
 * @typedef {object} QuestionResult
 * @property {string} id
 * @property {string} title
 * @property {string} notes
 * @property {string} warmUp
 * @property {number} rounds
 * @property {readonly Line[]} lines
 * @property {Array<Contender & { facts: Record<string, number | string>, curve?: import('./curve.js').Curve }>} contenders
 * @property {LineResult[]} results
 *
 * @typedef {object} Asking
 * @property {URL} url
 * @property {RunOptions} options
 * @property {string} folder - for the contenders' files; emptied afterwards
 * @property {Record<string, unknown>} context
 * @property {(() => Promise<void>) | undefined} restart - of the part's servers
 * @property {ReadonlyArray<string> | null} only - ids of the contenders to ask; null: all
 * @property {string} execPath - the Node that the contenders run under
 * @property {import('./progress.js').Progress} progress
 */

const CHILD = fileURLToPath(new URL('child.js', import.meta.url))

/**
 * @param {Asking} asking
 * @param {Omit<import('./child.js').Job, 'url'>} job
 * @param {import('./slow-disk.js').SlowDisk | null} [slowDisk]
 * @returns {Promise<any>} what the child tells
 */
async function inChild({ url, execPath, progress, folder }, job, slowDisk = null) {
  const child = fork(CHILD, [], {
    execPath,
    execArgv: ['--expose-gc'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '16', SQLITE_TMPDIR: folder }
  })
  /** @type {{ result: unknown } | null} */
  let outcome = null
  let failure = ''
  child.on('message', (message) => {
    const report = /** @type {import('./child.js').Report} */ (message)
    if (report.kind === 'progress') progress.detail(report.done, report.total)
    else if (report.kind === 'result') outcome = { result: report.result }
    else failure = report.text
  })
  if (child.pid !== undefined) slowDisk?.admit(child.pid)
  child.send({ url: url.href, ...job })
  const [code, signal] = await once(child, 'exit')
  if (outcome) return /** @type {{ result: unknown }} */ (outcome).result
  throw new Error(failure || `the contender's process ended (${signal ?? code}) without an answer`)
}

/**
 * @param {Asking} asking
 * @returns {Promise<QuestionResult>}
 */
export async function runQuestion(asking) {
  const { url, options, context, progress } = asking
  const { question } = /** @type {{ question: Question }} */ (await import(url.href))
  const contenders = question
    .contenders(options, context)
    .filter(({ id }) => !asking.only || asking.only.includes(id))
  if (contenders.length === 0) throw new Error(`${question.id} has none of these contenders`)
  const rounds = question.rounds?.(options) ?? options.rounds
  const { prepare } = question
  mkdirSync(asking.folder, { recursive: true })
  const slowDisk = question.slowDisk ? makeSlowDisk(asking.folder, question.slowDisk) : null
  progress.begin(question.id, contenders.length * (rounds + (prepare ? 1 : 0)))
  const seats = contenders.map((contender) => ({
    contender,
    folder: join(asking.folder, contender.id),
    prepared: /** @type {Record<string, unknown>} */ ({}),
    measurements: /** @type {Measurement[]} */ ([])
  }))
  try {
    for (const seat of seats) {
      mkdirSync(seat.folder, { recursive: true })
      if (!prepare) continue
      progress.step(`${seat.contender.label}, prepare`)
      seat.prepared = await inChild(asking, { phase: 'prepare', run: runOf(seat, 0) })
    }
    for (let round = 0; round < rounds; round++) {
      for (const seat of seats) {
        progress.step(`${seat.contender.label}, round ${round + 1} of ${rounds}`)
        if (question.needsFreshStart) await asking.restart?.()
        seat.measurements.push(
          await inChild(asking, { phase: 'measure', run: runOf(seat, round) }, slowDisk)
        )
      }
    }
  } finally {
    slowDisk?.remove()
    progress.end()
    rmSync(asking.folder, { recursive: true, force: true })
  }
  const { id, title, notes, warmUp, lines } = question
  return {
    ...{ id, title, notes, warmUp, rounds, lines },
    contenders: seats.map(({ contender, measurements }) => {
      const curve = measurements.at(-1)?.curve
      return {
        ...contender,
        facts: Object.assign({}, ...measurements.map(({ facts }) => facts)),
        ...(curve && { curve })
      }
    }),
    results: lines.flatMap((line) => resultsOf(line, seats))
  }

  /**
   * @param {(typeof seats)[number]} seat
   * @param {number} round
   */
  function runOf({ contender, folder, prepared }, round) {
    return { contender, options, folder, round, prepared, context }
  }
}

/**
 * @param {Line} line
 * @param {{ contender: Contender, measurements: Measurement[] }[]} seats
 * @returns {LineResult[]}
 */
function resultsOf(line, seats) {
  const roundsOf = (/** @type {Measurement[]} */ measurements) =>
    measurements.flatMap(({ samples, rates }) => {
      const taken = samples[line.id]
      if (!taken || taken.length === 0) return []
      const rate = rates?.[line.id]
      return [{ median: median(taken), count: taken.length, ...(rate !== undefined && { rate }) }]
    })
  const peer = seats.find(({ contender }) => contender.isPeer)
  const peerRounds = peer ? roundsOf(peer.measurements) : []
  return seats.flatMap(({ contender, measurements }) => {
    const rounds = roundsOf(measurements)
    if (rounds.length === 0) return []
    const rates = rounds.flatMap(({ rate }) => (rate === undefined ? [] : [rate]))
    const ratios = rounds.flatMap((round, index) => {
      const other = peerRounds[index]
      const ratio = other ? ratioOf(line, round, other) : Number.NaN
      return Number.isFinite(ratio) && ratio > 0 ? [ratio] : []
    })
    const result = {
      contender: contender.id,
      line: line.id,
      summary: summarize(measurements.flatMap(({ samples }) => samples[line.id] ?? [])),
      ratio: ratios.length > 0 ? median(ratios) : null,
      rounds
    }
    return rates.length > 0 ? [{ ...result, rate: median(rates) }] : [result]
  })
}

/**
 * @param {Line} line
 * @param {RoundFigure} own
 * @param {RoundFigure} peer
 * @returns {number} above 1: better than the peer
 */
function ratioOf(line, own, peer) {
  if (own.rate !== undefined && peer.rate !== undefined) return own.rate / peer.rate
  return line.better === 'higher' ? own.median / peer.median : peer.median / own.median
}
