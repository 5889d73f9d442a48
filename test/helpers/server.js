/**
 * An IMAP server in this process, of the real parts: directory, unlocker, encrypted stores, sockets on loopback.
 * An error that was answered by `NO [SERVERBUG]` fails the test at its end.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../config/load.js'
import { createAppPassword } from '../../src/accounts/app-passwords.js'
import { OpenAccounts } from '../../src/accounts/open-accounts.js'
import { provisionAccount } from '../../src/accounts/provision.js'
import { openAccountServices } from '../../src/accounts/services.js'
import { createImapServer } from '../../src/imap/session/listener.js'
import { steadyClock as systemSteadyClock, systemClock } from '../../src/support/clock.js'
import { certificateIn } from './certificate.js'
import { startClusterServer } from './cluster-server.js'

/** The cheapest key derivation that the configuration permits, and LOGIN without TLS from here. */
const TEST_SETTINGS = {
  'auth.argon2.memoryKiB': 19 * 1024,
  'imap.allowPlaintextLoopback': true,
  'accounts.lingerMs': 0,
  // So large that no test meets it by accident; those about quotas set their own.
  'accounts.quotaBytes': Number.MAX_SAFE_INTEGER,
  'accounts.quotaMessages': Number.MAX_SAFE_INTEGER,
  defaultDomain: 'example.org'
}

export const PASSWORD = 'correct horse'

/**
 * @typedef {object} TestServer
 * @property {number} port - plain and STARTTLS
 * @property {number} tlsPort
 * @property {string} data
 * @property {object[]} logged - every log record: fields, text, level
 * @property {unknown[]} unexpected - what became SERVERBUG; a test that expects one empties it
 * @property {import('../../src/imap/session/listener.js').ImapServer} imap
 * @property {import('../../src/accounts/services.js').AccountServices} services
 * @property {OpenAccounts} openAccounts
 * @property {() => Promise<{ port: number, tlsPort: number }>} startSibling - a second server over the same files
 * @property {(name: string) => Promise<string>} accountId
 * @property {(name: string, scope: 'read-write' | 'read-only') => Promise<string>} appPassword
 */

/**
 * @param {object[]} logged
 * @param {object} [bound]
 * @returns {any} a pino logger as far as the parts use it
 */
function collectingLogger(logged, bound = {}) {
  const at =
    (/** @type {string} */ level) => (/** @type {object} */ fields, /** @type {string} */ text) => {
      logged.push({ level, ...bound, ...fields, text })
    }
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
  return {
    ...Object.fromEntries(levels.map((level) => [level, at(level)])),
    child: (/** @type {object} */ fields) => collectingLogger(logged, { ...bound, ...fields })
  }
}

/**
 * @param {import('node:test').TestContext} t - the server is closed and its folder removed after it
 * @param {object} [options]
 * @param {string[]} [options.users] - accounts to make, all with PASSWORD
 * @param {Record<string, unknown>} [options.settings] - dotted names as in config/default.js
 * @param {boolean} [options.hasTls]
 * @param {import('../../src/support/clock.js').Clock} [options.clock]
 * @param {import('../../src/support/clock.js').Clock} [options.steadyClock] - default: a clock that was given
 * @param {() => boolean} [options.admits] - whether the process can bear one more session; with this it is the test's own
 * @returns {Promise<TestServer>}
 */
export async function startImapServer(
  t,
  {
    users = ['alice'],
    settings = {},
    hasTls = true,
    clock = systemClock,
    steadyClock = clock === systemClock ? systemSteadyClock : clock,
    admits
  } = {}
) {
  if (process.env['LETTERLOCK_TEST_WORKERS']) return await startWorkers(t, { users, settings })
  const data = mkdtempSync(join(tmpdir(), 'letterlock-imap-'))
  for (const folder of ['tmp', 'mail']) mkdirSync(join(data, folder))
  const config = loadConfig({ settings: { ...TEST_SETTINGS, data, ...settings }, environment: {} })
  /** @type {object[]} */
  const logged = []
  /** @type {unknown[]} */
  const unexpected = []
  const logger = collectingLogger(logged)
  const services = await openAccountServices({ config, clock, logger })
  for (const name of users) {
    const { masterKey } = await provisionAccount({
      services,
      address: name,
      password: Buffer.from(PASSWORD)
    })
    masterKey.dispose()
  }
  const { unlocker } = services
  const openAccounts = new OpenAccounts({
    services,
    onLocked: (accountId) => unlocker.forget(accountId),
    endSessions: (...ending) => imap.endSessions(...ending)
  })
  const certificate = await certificateIn(data)
  const imap = createImapServer({
    config,
    authenticate: async (attempt) => openAccounts.acquire(await unlocker.unlock(attempt)),
    tls: hasTls ? { cert: certificate.certificate, key: certificate.key } : null,
    clock,
    steadyClock,
    logger,
    ...(admits && { admits }),
    onUnexpectedError: (error) => {
      unexpected.push(error)
      t.diagnostic(String(error instanceof Error ? error.stack : error))
    }
  })
  const { port } = await imap.listen({ host: '127.0.0.1', port: 0, isImplicitTls: false })
  const tlsPort = hasTls
    ? (await imap.listen({ host: '127.0.0.1', port: 0, isImplicitTls: true })).port
    : 0
  /** @type {(() => Promise<void>)[]} */
  const closers = []
  t.after(async () => {
    for (const close of closers) await close()
    await imap.close({ graceMs: 5000 })
    await openAccounts.close()
    await services.close()
    rmSync(data, { recursive: true, force: true })
    if (unexpected.length > 0) throw unexpected[0]
  })
  const startSibling = async () => {
    // Handles, views and sessions of its own over the same files, as a second process would have.
    const others = new OpenAccounts({
      services,
      onLocked: () => {},
      endSessions: (...ending) => sibling.endSessions(...ending)
    })
    const sibling = createImapServer({
      config,
      authenticate: async (attempt) => others.acquire(await unlocker.unlock(attempt)),
      tls: null,
      clock,
      steadyClock,
      logger,
      onUnexpectedError: (error) => unexpected.push(error)
    })
    const bound = await sibling.listen({ host: '127.0.0.1', port: 0, isImplicitTls: false })
    closers.push(async () => {
      await sibling.close({ graceMs: 5000 })
      await others.close()
    })
    return { port: bound.port, tlsPort: 0 }
  }
  return {
    port,
    tlsPort,
    data,
    logged,
    unexpected,
    imap,
    services,
    openAccounts,
    startSibling,
    ...accountHelp(services)
  }
}

/**
 * @param {import('../../src/accounts/services.js').AccountServices} services
 * @returns {Pick<TestServer, 'accountId' | 'appPassword'>}
 */
function accountHelp(services) {
  const accountOf = async (/** @type {string} */ name) => {
    const account = await services.directory.findByAddress(`${name}@example.org`)
    if (account === null) throw new Error(`no account ${name}`)
    return account
  }
  return {
    accountId: async (name) => (await accountOf(name)).id,
    appPassword: async (name, scope) => {
      const account = await accountOf(name)
      const secret = Buffer.from(PASSWORD)
      const made = await createAppPassword({ services, account, secret, label: 'test', scope })
      return made.text
    }
  }
}

/**
 * As `startImapServer`, with several workers in processes of their own. What is only inside of them cannot be had.
 *
 * @param {import('node:test').TestContext} t
 * @param {{ users: string[], settings: Record<string, unknown> }} options
 * @returns {Promise<TestServer>}
 */
async function startWorkers(t, { users, settings }) {
  const { services, ...server } = await startClusterServer({
    users,
    password: PASSWORD,
    settings: { ...TEST_SETTINGS, ...settings },
    isPlain: Object.keys(settings).length === 0,
    logger: collectingLogger([]),
    after: (end) => t.after(end)
  })
  const inside = (/** @type {string} */ name) => () => {
    throw new Error(`${name} is inside the workers: this test is for one process`)
  }
  const names = ['imap', 'openAccounts', 'logged', 'unexpected', 'startSibling']
  const known = { ...server, services, ...accountHelp(services) }
  for (const name of names) Object.defineProperty(known, name, { get: inside(name) })
  return /** @type {TestServer} */ (/** @type {unknown} */ (known))
}
