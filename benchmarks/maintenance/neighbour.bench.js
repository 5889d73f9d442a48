/**
 * Does a busy user notice that the server looks after the mailboxes of others?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { appendArguments } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, require } from '../lib/question.js'
import { untilQuiet } from '../imap/set-up.js'
import { fillInbox, startServer } from './one-server.js'

/** Mail of each of the others, bytes: half of it is deleted before each pair. */
const OTHER_BYTES = 30_000_000

/** Longest that one half of a pair takes, milliseconds. */
const HALF_MS = 8000

/** Nobody is looked after while he is there, and everybody as soon as he has gone. */
const SETTINGS = {
  LETTERLOCK_MAINTENANCE_QUIET_MS: String(24 * 60 * 60_000),
  LETTERLOCK_MAINTENANCE_CLOSE_BUDGET_MS: String(60_000),
  LETTERLOCK_ACCOUNTS_LINGER_MS: '0'
}

/** Pause between two commands of the busy user, milliseconds: a mail program, not a flood. */
const PAUSE_MS = 5

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'neighbour',
  title: 'A busy user while others are looked after',
  notes:
    'One user appends 3 kB, fetches it, flags it and says NOOP, with 5 ms between commands. In pairs on the same server: first nothing else happens; then the users of six mailboxes of 30 MB, of which half was deleted, log out, and the server does all jobs on them, one after the other (VACUUM, quick_check, statistics, checkpoint). Samples are commands. Compare the p99 of each half. Checked: jobs were done in the second half, and none in the first.',
  warmUp: 'the first pair is not counted',
  lines: [
    { id: 'quiet', label: 'command, nothing else happens', unit: 'ms', better: 'lower' },
    { id: 'busy', label: 'command, others are looked after', unit: 'ms', better: 'lower' },
    {
      id: 'p99',
      label: 'p99 of the second half by that of the first',
      unit: 'ratio',
      better: 'lower'
    },
    {
      id: 'longest',
      label: 'longest command, others are looked after',
      unit: 'ms',
      better: 'lower'
    }
  ],
  contenders: () => [{ id: 'letterlock', label: 'Letterlock', isPeer: true, settings: {} }],
  rounds: () => 1,
  async measure(run) {
    const { isQuick, rounds, seed } = run.options
    const others = isQuick ? 2 : 6
    const bytes = isQuick ? 4_000_000 : OTHER_BYTES
    const users = others + 1
    const { server, logIn, health, askForAll } = await startServer(run, {
      users,
      settings: SETTINGS
    })
    /** @type {Record<'quiet' | 'busy' | 'p99' | 'longest', number[]>} */
    const samples = { quiet: [], busy: [], p99: [], longest: [] }
    try {
      const busy = await logIn('u1')
      await busy.run('SELECT INBOX')
      for (let pair = 0; pair <= rounds; pair++) {
        const clients = []
        for (let index = 0; index < others; index++) {
          const client = await logIn(`u${index + 2}`)
          clients.push(client)
          await fillInbox(client, { seed: seed + index, bytes, from: pair * 10_000 })
          await client.run('SELECT INBOX')
          const { bytes: found } = await client.run('SEARCH ALL')
          const count = found.toString('latin1').split('\r\n')[0]?.split(' ').length ?? 0
          await client.run(`STORE 1:${count >> 1} +FLAGS.SILENT (\\Deleted)`)
          await client.run('EXPUNGE')
        }
        await askForAll()
        await untilQuiet(server.pid)
        const before = (await health())['maintenanceDone'] ?? 0
        const quiet = await work(busy, seed, () => true)
        require((await health())['maintenanceDone'] === before, 'jobs ran in the quiet half')
        for (const client of clients) client.close()
        while ((await health())['maintenanceRunning'] === 0) await sleep(20)
        let isRunning = true
        const watching = (async () => {
          while (isRunning) {
            const { maintenanceRunning = 0, maintenanceWaiting = 0 } = await health()
            isRunning = maintenanceRunning + maintenanceWaiting > 0
            await sleep(100)
          }
        })()
        const loaded = await work(busy, seed, () => isRunning)
        isRunning = false
        await watching
        run.progress(pair, rounds)
        if (pair === 0) continue
        add(samples.quiet, quiet)
        add(samples.busy, loaded)
        add(samples.p99, [p99(loaded) / p99(quiet)])
        add(samples.longest, [Math.max(...loaded)])
      }
      return { samples, facts: { 'jobs done': (await health())['maintenanceDone'] ?? 0 } }
    } finally {
      await server.stop()
    }
  }
}

/**
 * @param {number[]} all
 * @param {number[]} more
 */
const add = (all, more) => all.push(...more)

/** @param {number[]} samples */
const p99 = (samples) =>
  samples.toSorted((a, b) => a - b)[Math.floor(samples.length * 0.99)] ?? Number.NaN

/**
 * Commands of one user, one after the other.
 *
 * @param {import('../lib/imap-client.js').ImapClient} client
 * @param {number} seed
 * @param {() => boolean} goesOn
 * @returns {Promise<number[]>} time of each, ms
 */
async function work(client, seed, goesOn) {
  const generator = new MailGenerator(seed)
  const times = []
  const start = now()
  for (let i = 0; now() - start < HALF_MS && goesOn(); i++) {
    const mail = generator.mailOf(i * 7)
    const bytes = mail.bytes.subarray(0, 3000)
    for (const command of [
      ['APPEND INBOX', ...appendArguments({ ...mail, bytes })],
      'UID FETCH * (FLAGS BODY.PEEK[])',
      'STORE * +FLAGS (\\Seen)',
      'NOOP'
    ]) {
      times.push((await client.run(command)).ms)
      await sleep(PAUSE_MS)
    }
  }
  return times
}
