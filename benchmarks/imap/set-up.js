/**
 * Starts the servers that the IMAP questions are put to, and fills them with the same messages.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dovecotVersion, prepareDovecot, whyNoDovecot } from '../lib/dovecot-server.js'
import { ImapClient, appendArguments } from '../lib/imap-client.js'
import {
  createAppPassword,
  createUsers,
  startLetterlock,
  startWorkers
} from '../lib/letterlock-server.js'
import { MailGenerator } from '../lib/mail.js'
import { processorSeconds } from '../lib/process-tree.js'
import { requireEqual } from '../lib/question.js'

/**
 * @typedef {import('../lib/letterlock-server.js').RunningServer} RunningServer
 * @typedef {import('../lib/question.js').PartSetup} PartSetup
 * @typedef {import('../lib/question.js').RunOptions} RunOptions
 *
 * @typedef {object} ServerFacts - plain data: goes to the contenders' processes
 * @property {string} id
 * @property {string} label
 * @property {boolean} isPeer
 * @property {Record<string, unknown>} settings
 * @property {number} pid
 * @property {RunningServer['ports']} ports
 * @property {string} appPassword - of u1; its password where the server has none
 * @property {string} folder - where it keeps everything
 *
 * @typedef {object} ImapContext
 * @property {ServerFacts[]} servers
 * @property {number} users - u1 to this, all with the password `pass`
 */

/** One MULTIAPPEND of the fill has so many messages. */
const FILL_BATCH = 100

/** The large mailbox, of the user u1. */
export const BIG = 'big'

/**
 * Makes a mailbox and puts the generator's first messages into it, so that each UID is one more than a message's index.
 *
 * @param {ImapClient} client
 * @param {string} mailbox
 * @param {Pick<RunOptions, 'seed' | 'messages'>} options
 * @param {(text: string) => void} [tell]
 */
export async function fill(client, mailbox, { seed, messages }, tell = () => {}) {
  const generator = new MailGenerator(seed)
  await client.run(`CREATE ${mailbox}`)
  let start = performance.now()
  for (let from = 0; from < messages; from += FILL_BATCH) {
    const size = Math.min(FILL_BATCH, messages - from)
    const mails = Array.from({ length: size }, (_, index) => generator.mailOf(from + index))
    await client.run([`APPEND ${mailbox}`, ...mails.flatMap(appendArguments)])
    if (performance.now() - start > 10_000) {
      start = performance.now()
      tell(`  ${from + size} of ${messages} messages`)
    }
  }
  const { bytes } = await client.run(`STATUS ${mailbox} (MESSAGES)`)
  requireEqual(/MESSAGES (\d+)/.exec(bytes.toString())?.[1], `${messages}`, 'messages filled in')
}

/**
 * @param {RunningServer} server
 * @param {RunOptions} options
 * @param {(text: string) => void} tell
 * @returns {Promise<ImapClient>} still logged in: without a session a mailbox is closed after a minute, and what is left to
 *   index waits for the next login, which would be measured beside it
 */
async function fillBig({ ports }, options, tell) {
  const client = await ImapClient.connect({ host: '127.0.0.1', port: ports.imap })
  await client.login('u1', 'pass')
  await fill(client, BIG, options, tell)
  return client
}

/**
 * A server that uses less than this share of a core for LOOK_MS is done with the work that the fill has left. Virtual
 * machines have been seen to charge a process that only wakes up now and then with 4 to 9 %.
 */
const QUIET_SHARE = 0.2
const LOOK_MS = 2000
/** A server is waited for at most so many ms. */
const MOST_QUIET_MS = 30 * 60_000

/**
 * Waits until a server has finished the work that it does by itself after a fill, such as a search index.
 *
 * @param {number} pid
 * @returns {Promise<number>} seconds that it was at work
 */
export async function untilQuiet(pid) {
  const start = performance.now()
  for (;;) {
    const worked = processorSeconds(pid)
    const lookedAt = performance.now()
    await sleep(LOOK_MS)
    const seconds = (performance.now() - lookedAt) / 1000
    const isQuiet = (processorSeconds(pid) - worked) / seconds < QUIET_SHARE
    if (isQuiet || lookedAt - start > MOST_QUIET_MS) return (lookedAt - start) / 1000
  }
}

/** After so many ms of rest Letterlock has begun to index: it does so after a pause of at most ten seconds. */
const INDEX_PAUSE_MS = 12_000

/**
 * To be awaited where a measurement has left a server work to do: the next one must not be measured beside that.
 *
 * @param {number} pid
 * @param {{ isQuick: boolean }} options
 */
export async function untilRested(pid, { isQuick }) {
  if (isQuick) return
  await sleep(INDEX_PAUSE_MS)
  await untilQuiet(pid)
}

/**
 * @typedef {object} Prepared
 * @property {Omit<ServerFacts, 'pid' | 'ports' | 'appPassword'>} facts
 * @property {string} appPassword
 * @property {() => Promise<RunningServer>} start
 * @property {() => void} remove
 */

/**
 * @param {string} scratch
 * @param {number} users
 * @param {{ workers?: number, cipher?: string }} [as] - another cipher than the default one
 * @returns {Promise<Prepared>}
 */
async function prepareLetterlock(scratch, users, { workers = 1, cipher } = {}) {
  const variant = cipher ?? (workers === 1 ? null : `${workers} workers`)
  const id = ['letterlock', ...(variant?.split(' ', 1) ?? [])].join('-')
  const folder = join(scratch, id)
  const data = join(folder, 'data')
  mkdirSync(folder)
  /** @type {Record<string, string>} */
  const settings = cipher === undefined ? {} : { LETTERLOCK_STORAGE_CIPHER: cipher }
  await createUsers(data, users, settings)
  return {
    facts: {
      id,
      label: ['Letterlock', ...(variant === null ? [] : [variant])].join(', '),
      isPeer: false,
      settings: {
        storage: `${cipher ?? 'default: chacha20'}, secure_delete on`,
        durable: 'every acknowledgement',
        argon2: 'default: 64 MiB, 2 passes'
      },
      folder: data
    },
    appPassword: await createAppPassword(data, 'u1'),
    start: () =>
      workers === 1
        ? startLetterlock(data, join(folder, 'server.log'), settings)
        : startWorkers(data, workers),
    remove: () => {}
  }
}

/**
 * @param {import('../lib/dovecot-server.js').Profile} profile
 * @param {string} scratch
 * @param {number} users
 * @returns {Promise<Prepared>}
 */
async function preparePeer(profile, scratch, users) {
  const { start, remove, base } = await prepareDovecot({ profile, scratch, users })
  return {
    facts: {
      id: `dovecot-${profile}`,
      label: profile === 'plain' ? 'Dovecot, mdbox' : 'Dovecot, mdbox + mail_crypt + zstd',
      isPeer: profile === 'plain',
      settings: {
        version: dovecotVersion(),
        mail_fsync: 'optimized (default)',
        passwords: 'plain text'
      },
      folder: base
    },
    appPassword: 'pass',
    start,
    remove
  }
}

/**
 * @param {RunOptions} options
 * @param {string} scratch
 * @param {(text: string) => void} tell
 * @param {object} [wanted]
 * @param {number} [wanted.users] - accounts; default: as the options say
 * @param {readonly number[]} [wanted.workers] - a Letterlock with so many processes for each of them
 * @returns {Promise<PartSetup>}
 */
export async function setUpServers(options, scratch, tell, wanted = {}) {
  const { users = options.users, workers = [1] } = wanted
  const whyNot = options.withDovecot ? whyNoDovecot() : '--no-dovecot'
  tell(`making ${users} accounts`)
  /** @type {Prepared[]} */
  const prepared = []
  for (const count of workers)
    prepared.push(await prepareLetterlock(scratch, users, { workers: count }))
  if (options.withAegis)
    prepared.push(await prepareLetterlock(scratch, users, { cipher: 'aegis-256' }))
  if (whyNot === null) {
    prepared.push(await preparePeer('plain', scratch, users))
    if (options.withDovecotCrypt) prepared.push(await preparePeer('crypt', scratch, users))
  } else if (options.withDovecot) tell(`Dovecot is not measured: ${whyNot}`)
  /** @type {Record<string, string>} */
  const environment = {
    dovecot: whyNot === null ? dovecotVersion() : `not measured: ${whyNot}`
  }
  /** @type {RunningServer[]} */
  const running = []
  const tearDown = async () => {
    for (const server of running) await server.stop()
    for (const { remove } of prepared) remove()
  }
  try {
    for (const { facts, start } of prepared) {
      const server = await start()
      running.push(server)
      tell(`filling ${facts.label} with ${options.messages} messages`)
      const client = await fillBig(server, options, tell)
      const seconds = await untilQuiet(server.pid)
      client.close()
      environment[`${facts.label}, at work after the fill`] = `${seconds.toFixed(0)} s`
    }
    /** @type {ImapContext} */
    const context = { servers: [], users }
    const restart = async () => {
      for (const [index, { facts, appPassword, start }] of prepared.entries()) {
        await running[index]?.stop()
        const server = await start()
        running[index] = server
        context.servers[index] = { ...facts, appPassword, pid: server.pid, ports: server.ports }
      }
    }
    // Restarted, so that the first question meets servers that have read nothing yet.
    await restart()
    environment['accounts'] = `${users}`
    return { context: /** @type {Record<string, any>} */ (context), environment, restart, tearDown }
  } catch (error) {
    await tearDown()
    throw error
  }
}
