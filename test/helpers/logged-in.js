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
