/**
 * The page for users over a real server's parts: directory, mailboxes, IMAP sessions.
 */
import { createUserPage } from '../../src/user-page/create.js'
import { certificateIn } from './certificate.js'
import { PageClient } from './page-client.js'
import { startImapServer } from './server.js'
import { WireClient } from './wire-client.js'

/** The cheapest that the format takes. */
const DOWNLOAD_ARGON2 = { memoryKiB: 19 * 1024, passes: 2, parallelism: 1 }

/**
 * @param {import('node:test').TestContext} t
 * @param {object} [options]
 * @param {string[]} [options.users]
 * @param {Record<string, unknown>} [options.settings]
 * @param {import('../../src/support/clock.js').Clock} [options.clock]
 * @param {import('../../src/support/proxy-header.js').ProxyTrust | null} [options.proxy]
 */
export async function startUserPage(t, { proxy = null, ...options } = {}) {
  const server = await startImapServer(t, options)
  const { services, imap, openAccounts, data } = server
  const { certificate, key } = await certificateIn(data)
  const page = await createUserPage({
    services,
    imap,
    openAccounts,
    tls: { cert: certificate, key },
    downloadArgon2: DOWNLOAD_ARGON2
  })
  const { port } = await page.listen({ host: '127.0.0.1', port: 0, proxy })
  t.after(() => page.close({ graceMs: 0 }))
  /** @returns {Promise<WireClient>} an IMAP connection */
  const connectImap = async () => {
    const client = await WireClient.connect(server.port)
    t.after(() => client.destroy())
    return client
  }
  return {
    ...server,
    page,
    pagePort: port,
    browser: (/** @type {any} */ connection = {}) => new PageClient(port, connection),
    connectImap,
    // Gives the reply to LOGIN, which begins with OK or NO.
    logIntoImap: async (/** @type {string} */ user, /** @type {string} */ password) => {
      const client = await connectImap()
      const reply = await client.command(`LOGIN ${user} "${password}"`)
      client.destroy()
      return /^w\d+ (.*)\r\n$/m.exec(reply)?.[1] ?? reply
    }
  }
}
