/**
 * What `startImapServer` gives where LETTERLOCK_TEST_WORKERS asks for several workers in processes of their own: the same
 * files, ports and accounts, and nothing that only exists inside of a server process.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { after as afterFile } from 'node:test'
import { join } from 'node:path'
import { loadConfig } from '../../config/load.js'
import { provisionAccount } from '../../src/accounts/provision.js'
import { deleteAccount } from '../../src/accounts/remove-account.js'
import { openAccountServices } from '../../src/accounts/services.js'
import { systemClock } from '../../src/support/clock.js'
import { startCluster } from './cluster.js'

/** @typedef {Awaited<ReturnType<typeof open>>} Shared */

/**
 * The tests of one file that change no setting take the same workers, with accounts made anew.
 *
 * @type {Promise<Shared> | null}
 */
let shared = null

/**
 * @param {Record<string, unknown>} settings
 * @param {any} logger
 */
async function open(settings, logger) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-workers-'))
  const data = join(folder, 'data')
  for (const name of ['', 'tmp', 'mail']) mkdirSync(join(data, name))
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify(settings))
  const config = loadConfig({ settings: { ...settings, data }, environment: {} })
  const services = await openAccountServices({ config, clock: systemClock, logger })
  const cluster = await startCluster({
    data,
    workers: Number(process.env['LETTERLOCK_TEST_WORKERS']),
    args: ['--config', file]
  })
  return { folder, data, services, cluster }
}

/**
 * @param {Record<string, unknown>} settings
 * @param {any} logger
 * @returns {Promise<Shared>}
 */
function openShared(settings, logger) {
  if (shared === null) {
    shared = open(settings, logger)
  }
  return shared
}

// Registered here and not where the workers are started: that is inside of a test, whose end would end them.
if (process.env['LETTERLOCK_TEST_WORKERS']) {
  afterFile(async () => {
    if (shared !== null) await close(await shared)
  })
}

/** @param {Shared} opened */
async function close({ folder, services, cluster }) {
  await cluster.stop()
  await services.close()
  rmSync(folder, { recursive: true, force: true })
}

/**
 * @param {object} options
 * @param {string[]} options.users
 * @param {string} options.password
 * @param {Record<string, unknown>} options.settings - all of them
 * @param {boolean} options.isPlain - no setting but those of every test
 * @param {any} options.logger
 * @param {(end: () => Promise<void>) => void} options.after - what is to be done when the test has ended
 */
export async function startClusterServer({ users, password, settings, isPlain, logger, after }) {
  const opened = await (isPlain ? openShared(settings, logger) : open(settings, logger))
  const { data, services, cluster } = opened
  const before = cluster.output().length
  for (const account of await services.directory.listAccounts()) {
    await deleteAccount({ services, account })
  }
  for (const name of users) {
    const { masterKey } = await provisionAccount({
      services,
      address: name,
      password: Buffer.from(password)
    })
    masterKey.dispose()
  }
  after(async () => {
    if (!isPlain) await close(opened)
    const errors = cluster
      .output()
      .slice(before)
      .match(/.*"level":"error".*/g)
    if (errors) throw new Error(errors.join('\n'))
  })
  return { data, services, port: cluster.ports.imap, tlsPort: cluster.ports.imaps }
}
