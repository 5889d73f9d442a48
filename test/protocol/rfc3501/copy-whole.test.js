/** COPY and MOVE by sequence numbers take the whole set or nothing (RFC 3501 §6.4.7), also beside an EXPUNGE. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

for (const command of ['COPY', 'MOVE']) {
  test(`${command} by number beside an EXPUNGE takes all three messages or none`, async (t) => {
    const server = await startImapServer(t)
    const one = await loggedIn(t, server)
    const other = await loggedIn(t, server)
    await one.command('CREATE target')
    for (let trial = 0; trial < 30; trial++) {
      for (let i = 0; i < 3; i++) await one.command('APPEND INBOX', MAIL)
      for (const client of [one, other]) await client.command('SELECT INBOX')
      await other.command('STORE 2 +FLAGS.SILENT (\\Deleted)')
      await one.command('NOOP')
      const expunged = other.command('EXPUNGE')
      for (let turn = 0; turn < trial % 6; turn++) await setImmediate()
      const answer = await one.command(`${command} 1:3 target`)
      await expunged
      const [, source = ''] = /COPYUID \d+ (\S+) /.exec(answer) ?? []
      if (source === '') assert.match(answer, /^w\d+ NO \[EXPUNGEISSUED\]/m)
      else assert.match(source, /^\d+:\d+$/, 'three UIDs that follow each other')
      await other.command('STORE 1:* +FLAGS.SILENT (\\Deleted)')
      await other.command('EXPUNGE')
    }
  })
}
