/**
 * What a host remembers of the jobs that follow a backup: what the last prune and the last rehearsal failed at, and which
 * accounts of the backups no rehearsal can restore. Each place has its own results: what is well in one says nothing of another.
 * They are in a file of their own, so that no bound of the audit log loses them.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { writeFileDurably } from '../support/write-file.js'
import { counted } from '../support/format.js'

/**
 * @typedef {'prune' | 'rehearsal'} FollowingJob
 *
 * @typedef {object} Place
 * @property {string} data - the data folder
 * @property {{ label: string }} target - where the backups are
 *
 * @typedef {object} LastResults
 * @property {Partial<Record<FollowingJob, { code: string, detail?: string | undefined }>>} failures - of those that failed last time
 * @property {{ id: string, code: string }[]} damaged - accounts that a rehearsal could not restore, and that no run has stored
 *   anew since
 */

/** @param {string} data */
const resultsFile = (data) => join(data, 'backup-results.json')

/** @returns {LastResults} of a host where nothing has failed */
export const noResults = () => ({ failures: {}, damaged: [] })

/**
 * @param {string} data - the data folder
 * @returns {Promise<Record<string, Partial<LastResults>>>} by label of the place
 */
async function readAll(data) {
  try {
    return JSON.parse(await readFile(resultsFile(data), 'utf8'))
  } catch {
    // There is no file yet; or it cannot be read, which must not end a backup: the next job finds the same troubles again.
    return {}
  }
}

/**
 * @param {Place} place
 * @returns {Promise<LastResults>}
 */
export async function readLastResults({ data, target }) {
  return { ...noResults(), ...(await readAll(data))[target.label] }
}

/**
 * @param {Place} place
 * @param {(results: LastResults) => Partial<LastResults>} change - gives those that are to be replaced
 */
export async function changeLastResults({ data, target }, change) {
  const all = await readAll(data)
  const before = { ...noResults(), ...all[target.label] }
  const after = { ...before, ...change(before) }
  if (JSON.stringify(after) === JSON.stringify(before)) return
  await writeFileDurably(
    resultsFile(data),
    `${JSON.stringify({ ...all, [target.label]: after })}\n`
  )
}

/**
 * @param {Place} place
 * @param {object} backup - that was made
 * @param {ReadonlyMap<string, unknown>} backup.done - by account; a damaged one that is in it was stored anew
 * @param {readonly { id: string }[]} backup.entries - of all accounts in it; those of accounts that failed are older
 */
export async function forgetDamage(place, { done, entries }) {
  const isOld = (/** @type {string} */ id) =>
    !done.has(id) && entries.some((entry) => entry.id === id)
  await changeLastResults(place, ({ damaged }) => ({
    damaged: damaged.filter(({ id }) => isOld(id))
  }))
}

/**
 * To be called by whoever holds the host's lock of backups.
 *
 * @template T
 * @param {FollowingJob} job
 * @param {Place & { logger: import('../telemetry/logger.js').Logger }} host
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withResult(job, { logger, ...place }, work) {
  const note = async (/** @type {LastResults['failures']} */ failure) =>
    changeLastResults(place, ({ failures }) => {
      const { [job]: last, ...others } = failures
      return { failures: { ...others, ...failure } }
    })
  try {
    const result = await work()
    await note({})
    return result
  } catch (error) {
    if (error instanceof MailError) {
      const { code, detail } = error
      await note({ [job]: { code, detail } }).catch((err) =>
        logger.warn({ err, job }, 'what a job of the backups failed at could not be noted')
      )
    }
    throw error
  }
}

/**
 * @param {LastResults} results
 * @returns {{ isDamage: boolean, text: string }[]} for the operator; empty where all is well
 */
export function troublesOf({ failures, damaged }) {
  const troubles = Object.entries(failures).map(([job, { code, detail }]) => ({
    isDamage: code === 'BACKUP_DAMAGED',
    text: `the last ${job} failed: ${code}${detail === undefined ? '' : ` (${detail})`}`
  }))
  const [first] = damaged
  if (first !== undefined) {
    const text = `${counted(damaged.length, 'account')} could not be restored in a rehearsal, first ${first.id}`
    troubles.unshift({ isDamage: true, text })
  }
  return troubles
}
