import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SourcePool } from '../../../../src/import/imap/source-pool.js'
import { parseSourceServer } from '../../../../src/import/imap/source-server.js'
import { startImapSource } from '../../../helpers/imap-source.js'

test('who is refused a further connection takes the one that was given back meanwhile', async (t) => {
  /** @type {((text: string) => unknown)[]} */
  const logins = []
  const { port } = await startImapSource(t, {
    folders: {},
    answer: ({ command, end }) => {
      if (!command.startsWith('LOGIN')) return false
      logins.push(end)
      return logins.length > 1
    }
  })
  const pool = new SourcePool({
    login: {
      server: parseSourceServer(`imap://ann@127.0.0.1:${port}`),
      password: Buffer.from('pass'),
      certificateAuthority: null,
      mayBePlaintext: true
    },
    connections: 2,
    retryMs: []
  })
  const connected = Promise.withResolvers()
  const first = pool.run(null, async () => {
    connected.resolve(null)
    while (logins.length < 2) await turn()
  })
  await connected.promise
  const second = pool.run(null, async () => 'done')
  await first
  logins[1]?.('NO [LIMIT] No more than one')
  while (pool.size > 1) await turn()
  assert.equal(await Promise.race([second, turn('still waits')]), 'done')
  await pool.close()
})
