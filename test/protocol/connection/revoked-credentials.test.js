/**
 * Sessions whose credential is revoked while they are there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { listAppPasswords, revokeAppPassword } from '../../../src/accounts/app-passwords.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient } from '../../helpers/transcript.js'

/**
 * @param {import('../../helpers/server.js').TestServer} server
 * @returns {Promise<{ phone: LineClient, revoke: () => Promise<unknown> }>} logged in with an app password of its own
 */
async function connectPhone(server) {
  const { services } = server
  const phone = await LineClient.connect(server)
  await phone.login('alice', await server.appPassword('alice', 'read-write'))
  const account = await services.directory.findByAddress('alice@example.org')
  assert.ok(account)
  const [credential] = await listAppPasswords({ services, account })
  const credentialId = String(credential?.id)
  return { phone, revoke: () => revokeAppPassword({ services, account, credentialId }) }
}

test('the sessions of an app password that is revoked end, and no others of the account', async (t) => {
  const server = await startImapServer(t)
  const laptop = await LineClient.connect(server)
  await laptop.login()
  const { phone, revoke } = await connectPhone(server)
  await revoke()
  assert.match((await phone.line()) ?? '', /^\* BYE The credential was changed or revoked/)
  assert.match((await laptop.command('NOOP')).at(-1) ?? '', /^t OK/)
  laptop.close()
})

test('one that does not read its answer is cut off in a minute, and keeps nobody else out until then', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  const laptop = await LineClient.connect(server)
  await laptop.login()
  const message = `Subject: large\r\n\r\n${'y'.repeat(400_000)}`
  laptop.send(`a APPEND INBOX {${message.length}+}\r\n${message}\r\n`)
  assert.match((await laptop.line()) ?? '', /^a OK/)

  const { phone, revoke } = await connectPhone(server)
  await phone.command('SELECT INBOX')
  phone.socket.pause()
  phone.send('f FETCH 1 BODY.PEEK[]\r\n'.repeat(60))
  await revoke()
  const { directory } = server.services
  // Looked at again and again, as long as the session is there.
  const look = t.mock.method(directory, 'credentialStates')
  while (look.mock.callCount() < 3) await setTimeout(100)
  assert.match((await laptop.command('NOOP')).at(-1) ?? '', /^t OK/)
  assert.equal(server.imap.counts().loggedIn, 2)

  clock.advance(61_000)
  while (server.imap.counts().loggedIn > 1) await setTimeout(100)
  assert.match((await laptop.command('NOOP')).at(-1) ?? '', /^t OK/)
  laptop.close()
})
