/**
 * A disk that takes no writes any more, because it fails or because its file system has become read-only: everybody is
 * told that, nobody is told of damage, and nothing waits for ever.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import { missing } from '../helpers/programs.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

const USER = 'user@example.org'

/**
 * @param {string} data - of one account in example.org
 * @returns {string} the folder of its mailbox
 */
function mailboxFolder(data) {
  const domain = join(data, 'mail', 'example.org')
  const [id = ''] = readdirSync(domain)
  return join(domain, id)
}

test(
  'a login whose waiting mail the disk does not take is refused for now, and the server ends well',
  { skip: missing('strace') },
  async (t) => {
    const data = scratchFolder(t, 'failing-disk')
    await createAccounts(data, [USER])
    const log = join(mailboxFolder(data), 'mail.db-wal')
    const inject = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:error=EIO']
    const wrapper = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', '-P', log, ...inject]
    const server = await startServerProcess(t, { data, wrapper })
    await deliver(server.ports.lmtp, { to: USER, message: 'Subject: waits\r\n\r\nfor its owner' })
    const client = await WireClient.connect(server.ports.imap)
    assert.match(await client.command(`LOGIN ${USER} pass`), /^w\d+ NO \[UNAVAILABLE\]/m)
    client.destroy()
    assert.equal(await server.stop(), 0, server.output())
  }
)
