import assert from 'node:assert/strict'
import { PASSWORD } from './server.js'
import { WireClient } from './wire-client.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {{ port: number }} server
 * @returns {Promise<WireClient>} a session of alice, gone after the test
 */
export async function loggedIn(t, { port }) {
  const client = await WireClient.connect(port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  return client
}

/** A small message, for tests to which it does not matter which. */
export const MAIL = Buffer.from('Subject: one of many\r\n\r\nx\r\n')

/**
 * Selects INBOX, in which there is nothing, with many messages: each COPY of all to itself doubles them.
 *
 * @param {WireClient} client
 * @param {number} doublings - 2 to this power are made
 */
export async function selectMany(client, doublings) {
  await client.command('APPEND INBOX', MAIL)
  await client.command('SELECT INBOX')
  for (let doubling = 0; doubling < doublings; doubling++) await client.command('COPY 1:* INBOX')
  const status = await client.command('STATUS INBOX (MESSAGES)')
  assert.ok(status.includes(`(MESSAGES ${2 ** doublings})`), status)
}
