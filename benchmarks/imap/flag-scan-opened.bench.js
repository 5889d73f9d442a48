/**
 * How long does the plain flag scan take of a large mailbox that nobody has open, while the server has been at work for
 * others?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readIntoPageCache } from '../lib/page-cache.js'
import { SCAN_CHECKS, flagScanner } from './scan-flags.js'
import { imapContenders, openSession, remake, serverOf } from './session.js'

/** Copies of the large mailbox: each is scanned once in a round, and not before. */
const COPIES = ['copy-1', 'copy-2', 'copy-3']

/** After the copies a server gets so many ms for the work that it does when its users are quiet. */
const QUIET_MS = 20_000

/** The large mailbox itself is scanned so many times beforehand. */
const WARM_UP_SCANS = 5

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'flag-scan-opened',
  title: 'UID FETCH 1:* (FLAGS) of a mailbox that nobody has open',
  notes: `SELECT and the scan together, from the first byte to the second tagged OK, of three copies (made by COPY, ${QUIET_MS / 1000} s before the server is started anew; quick: at once) of the large mailbox, one after the other, each once after a start of the server. ${SCAN_CHECKS}`,
  warmUp: `the large mailbox itself is scanned ${WARM_UP_SCANS} times before. The server’s files are read once before, so that neither disk is measured`,
  lines: [{ id: 'opened', label: 'SELECT and UID FETCH 1:* (FLAGS)', unit: 'ms', better: 'lower' }],
  needsFreshStart: true,
  contenders: imapContenders,
  async prepare(run) {
    const client = await openSession(run)
    for (const copy of COPIES) {
      await remake(client, copy)
      await client.run(`COPY 1:* ${copy}`)
    }
    if (!run.options.isQuick) await sleep(QUIET_MS)
    client.close()
    return {}
  },
  async measure(run) {
    const scanFlags = flagScanner(run.options)
    readIntoPageCache(serverOf(run).folder)
    const client = await openSession(run)
    for (let scans = 0; scans < WARM_UP_SCANS; scans++) await scanFlags(client)
    const opened = []
    for (const copy of COPIES) {
      const { ms } = await client.run(`SELECT ${copy}`)
      opened.push(ms + (await scanFlags(client)))
    }
    client.close()
    return { samples: { opened } }
  }
}
