/**
 * A server of its own for each question, with settings that make its maintenance come soon enough to be watched.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ImapClient, appendArguments } from '../lib/imap-client.js'
import { askForMaintenance, createUsers, startLetterlock } from '../lib/letterlock-server.js'
import { MailGenerator } from '../lib/mail.js'

/** @typedef {import('../lib/question.js').Run} Run */

/** Messages in one MULTIAPPEND. */
const BATCH = 50

/**
 * @param {Run} run
 * @param {object} options
 * @param {number} options.users
 * @param {Record<string, string>} options.settings - by the names of their environment variables
 */
export async function startServer(run, { users, settings }) {
  const data = join(run.folder, `data-${run.round}`)
  mkdirSync(run.folder, { recursive: true })
  await createUsers(data, users)
  const server = await startLetterlock(data, join(run.folder, 'server.log'), settings)
  const logIn = async (/** @type {string} */ user) => {
    const client = await ImapClient.connect({ host: '127.0.0.1', port: server.ports.imap })
    await client.login(user, 'pass')
    return client
  }
  const health = async () => {
    const answer = await fetch(`http://127.0.0.1:${server.ports.admin}/health/maintenance`)
    return /** @type {Record<string, number>} */ (await answer.json())
  }
  return { data, server, logIn, health, askForAll: () => askForMaintenance(data) }
}

/**
 * @param {ImapClient} client
 * @param {{ seed: number, bytes: number, from?: number }} what
 * @param {(done: number) => void} [onProgress] - bytes
 * @returns {Promise<number>} messages
 */
export async function fillInbox(client, { seed, bytes, from = 0 }, onProgress) {
  const generator = new MailGenerator(seed)
  let number = from
  let done = 0
  while (done < bytes) {
    const mails = []
    for (let i = 0; i < BATCH && done < bytes; i++) {
      const mail = generator.mailOf(number++)
      done += mail.bytes.length
      mails.push(mail)
    }
    await client.run(['APPEND INBOX', ...mails.flatMap(appendArguments)])
    onProgress?.(done)
  }
  return number - from
}

/**
 * @param {string} data
 * @returns {string} the largest mailbox file
 */
export function largestMailbox(data) {
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('mail.db'))
    .map((name) => join(data, name))
    .sort((one, other) => bytesOf(other) - bytesOf(one))
  const [largest] = files
  if (largest === undefined) throw new Error('no mailbox file')
  return largest
}

/** @param {string} path */
export const bytesOf = (path) =>
  [path, `${path}-wal`].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0
  )
