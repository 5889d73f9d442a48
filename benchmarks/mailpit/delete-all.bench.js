/**
 * How long does it take to delete everything, and how large is the file afterwards? The last question of its part:
 * nothing is left after it.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageCount, openSession, serverOf } from '../imap/session.js'
import { BIG } from '../imap/set-up.js'
import { now, requireEqual, timed } from '../lib/question.js'
import { isPlain, mailpitContenders, openPlain } from './set-up.js'

/** What the server may do afterwards, on its own, until its file is looked at, milliseconds. */
const SETTLE_MS = 30_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'delete-all',
  title: 'Delete everything',
  notes:
    'Letterlock: STORE 1:* \\Deleted and EXPUNGE; it clears up in slices afterwards, and the file is looked at half a minute later (quick: two seconds). Plain SQLite: DELETE and VACUUM. Checked: no message is left.',
  warmUp: 'none',
  lines: [
    { id: 'delete', label: 'until acknowledged', unit: 'ms', better: 'lower' },
    {
      id: 'size',
      label: 'file and -wal afterwards',
      unit: 'bytes',
      better: 'lower',
      reference: 'under 40 kB after VACUUM'
    }
  ],
  contenders: mailpitContenders,
  rounds: () => 1,
  async measure(run) {
    if (isPlain(run)) {
      const mailbox = openPlain(run)
      const ms = timed(() => mailbox.deleteAll())
      requireEqual(mailbox.counts().total, 0, 'messages left')
      mailbox.close()
      return { samples: { delete: [ms], size: [sizeOf(String(run.context['plainPath']))] } }
    }
    const client = await openSession(run)
    const start = now()
    await client.run('STORE 1:* +FLAGS.SILENT (\\Deleted)')
    await client.run('EXPUNGE')
    const ms = now() - start
    requireEqual(await messageCount(client, BIG), 0, 'messages left')
    await sleep(run.options.isQuick ? 2000 : SETTLE_MS)
    client.close()
    return { samples: { delete: [ms], size: [sizeOf(largestFile(serverOf(run).folder))] } }
  }
}

/** @param {string} path */
const sizeOf = (path) =>
  [path, `${path}-wal`].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0
  )

/**
 * @param {string} data - folder
 * @returns {string} the mailbox file that takes most room: u1's, the others have hardly any mail
 */
function largestFile(data) {
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('mail.db'))
    .map((name) => join(data, name))
    .sort((one, other) => sizeOf(other) - sizeOf(one))
  const [largest] = files
  if (largest === undefined) throw new Error('no mailbox file')
  return largest
}
