/**
 * What the directory of many accounts costs: `npx node benchmarks/scale/directory.js 10000 100000`. Prints a table with one
 * column for each number of accounts. The rows are as accounts have them, with random bytes in place of keys; one in ten has
 * an alias and one in three an app password. A thousandth of them is made through the directory, the rest by copying rows.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { openDirectory } from '../../src/accounts/directory.js'
import { systemClock } from '../../src/support/clock.js'
import { createLogger } from '../../src/telemetry/logger.js'
import { credential, newAccount } from '../../test/helpers/directory-rows.js'

/** @typedef {import('../../src/accounts/directory-port.js').Credential} Credential */

const DOMAINS = 100
const now = () => performance.now()
const addressOf = (/** @type {number} */ n) => `user${n}@domain${n % DOMAINS}.example`

/**
 * @param {string} path
 * @param {number} count
 */
async function fill(path, count) {
  const data = join(path, '..')
  const directory = open(path)
  for (let n = 0; n < DOMAINS; n++) {
    const input = newAccount(data, addressOf(n))
    await directory.createAccount(input)
    if (n % 10 === 0) await directory.addAlias(input.id, `alias${n}@domain${n}.example`)
    if (n % 3 === 0) {
      const app = { kind: /** @type {const} */ ('app-password'), argon2: null, pepperId: null }
      const [password] = /** @type {[Credential]} */ (input.keys.credentials)
      const row = credential(input.id, { ...app, lookup: randomBytes(8) })
      await directory.insertCredential(row, password)
    }
  }
  await directory.close()
  const db = new Database(path)
  const columnsOf = (/** @type {string} */ table) =>
    /** @type {{ name: string }[]} */ (db.pragma(`table_info(${table})`)).map(({ name }) => name)
  const copy = (
    /** @type {string} */ table,
    /** @type {Record<string, string>} */ change,
    /** @type {string} */ more = ''
  ) => {
    const columns = columnsOf(table)
    const values = columns.map((name) => change[name] ?? `t.${name}`)
    db.prepare(
      `INSERT INTO ${table} (${columns.join()}) SELECT ${values.join()} FROM ${table} t ${more}`
    ).run()
  }
  const renamed = (/** @type {string} */ column) => `replace(t.${column}, '@', '-' || $turn || '@')`
  db.exec('BEGIN')
  for (let turn = 1; turn < count / DOMAINS; turn++) {
    const id = `(SELECT new FROM pairs WHERE old = t.account_id)`
    const first = 'JOIN pairs p ON p.old = t.account_id'
    db.exec(`CREATE TEMP TABLE pairs AS SELECT a.id AS old, lower(hex(randomblob(8))) AS new FROM accounts a
      WHERE a.address NOT LIKE '%-%'`)
    const at = (/** @type {string} */ text) => text.replace('$turn', String(turn))
    copy(
      'accounts',
      {
        id: 'p.new',
        address: at(renamed('address')),
        folder: `replace(t.folder, p.old, p.new)`,
        used_bytes: 'abs(random() % 1000000000)'
      },
      'JOIN pairs p ON p.old = t.id'
    )
    // As long as those of a hybrid key.
    const seal = { public_key: 'randomblob(1216)', recipient: 'lower(hex(randomblob(980)))' }
    copy('account_seals', { account_id: id, ...seal }, first)
    copy('addresses', { address: at(renamed('address')), account_id: id }, first)
    const credentialId = 'lower(hex(randomblob(8)))'
    const salted = { salt: 'randomblob(16)', wrapped_key: 'randomblob(61)' }
    const lookup = 'CASE WHEN t.lookup IS NULL THEN NULL ELSE randomblob(8) END'
    copy('credentials', { id: credentialId, account_id: id, lookup, ...salted }, first)
    copy('seal_identities', { account_id: id, recipient: 'lower(hex(randomblob(980)))' }, first)
    db.exec('DROP TABLE pairs')
  }
  db.exec('COMMIT')
  db.exec('ANALYZE')
  db.pragma('wal_checkpoint(TRUNCATE)')
  const { n } = /** @type {{ n: number }} */ (
    db.prepare('SELECT count(*) AS n FROM accounts').get()
  )
  db.close()
  return n
}

/** @param {string} path */
const open = (path) =>
  openDirectory({ path, clock: systemClock, logger: createLogger({ level: 'warn' }) })

/**
 * @param {number} times
 * @param {(n: number) => Promise<unknown>} work
 * @returns {Promise<string>} median
 */
async function timed(times, work) {
  const samples = []
  for (let n = 0; n < times; n++) {
    const startedAt = now()
    await work(n)
    samples.push(now() - startedAt)
  }
  const median = samples.toSorted((left, right) => left - right)[Math.floor(times / 2)] ?? 0
  return median < 1 ? `${(1000 * median).toFixed(0)} µs` : `${median.toFixed(1)} ms`
}

/**
 * @param {number} count
 * @returns {Promise<[string, string][]>}
 */
async function measure(count) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-scale-'))
  try {
    const path = join(folder, 'directory.db')
    const accounts = await fill(path, count)
    const bytes = statSync(path).size
    const startedAt = now()
    const directory = open(path)
    await directory.listPepperIds()
    const openMs = now() - startedAt
    const any = () => {
      const n = Math.floor(Math.random() * DOMAINS)
      const turn = Math.floor(Math.random() * (count / DOMAINS))
      return turn === 0 ? addressOf(n) : addressOf(n).replace('@', `-${turn}@`)
    }
    const tenantOf = (/** @type {number} */ n) => `domain${n}.example`
    for (let n = 0; n < 20; n++) await directory.updateTenant(tenantOf(n), { quotaBytes: 1e15 })
    /** @type {string[]} */
    const ids = []
    const query = { isDescending: true, limit: 50, offset: 0 }
    const page = (/** @type {object} */ more) =>
      directory.pageAccounts({ sort: 'usedBytes', ...query, ...more })
    /** @type {[string, string][]} */
    const rows = [
      ['accounts', String(accounts)],
      ['file', `${(bytes / 1e6).toFixed(1)} MB, ${Math.round(bytes / accounts)} bytes an account`],
      ['open, and which peppers there are', `${openMs.toFixed(0)} ms`],
      [
        'login: account by address',
        await timed(2000, async () => {
          const account = await directory.findByAddress(any())
          if (account === null) throw new Error('an account is missing')
          ids.push(account.id)
        })
      ],
      [
        'login: credential',
        await timed(2000, (n) => directory.findSingleCredential(String(ids[n]), 'password'))
      ],
      [
        'LMTP: unknown address',
        await timed(2000, (n) => directory.findByAddress(`no${n}@x.example`))
      ],
      [
        'LMTP: room of a tenant, once a second',
        await timed(20, (n) => directory.tenantRoom(tenantOf(n)))
      ],
      ['all accounts, one list', await timed(3, () => directory.listAccounts())],
      [
        '200 accounts for a job',
        await timed(50, (n) => directory.pageFolders({ afterId: String(ids[n]), limit: 200 }))
      ],
      ['dashboard: 50 largest accounts', await timed(5, () => page({}))],
      ['dashboard: search by a part of the name', await timed(5, () => page({ search: 'r77-' }))],
      [
        'dashboard: 50 largest of one tenant',
        await timed(5, () => page({ tenant: 'domain7.example' }))
      ],
      ['dashboard: tenants with their sums', await timed(3, () => directory.listTenants())],
      ['one tenant with its sums', await timed(20, (n) => directory.findTenant(tenantOf(n)))],
      ['dashboard: totals', await timed(5, () => directory.totals())],
      [
        'make an account, durable',
        await timed(50, (n) =>
          directory.createAccount(newAccount(folder, `new${n}@domain1.example`))
        )
      ]
    ]
    for (const id of ids.slice(0, 1000)) directory.recordUsage(id, { bytes: 1, messages: 1 })
    rows.push(['1,000 usages, durable', await timed(1, () => directory.flush())])
    rows.push([
      'SQLite’s check of the file, in a thread',
      await timed(1, () => directory.quickCheck())
    ])
    await directory.close()
    return rows
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const columns = []
for (const count of process.argv.slice(2).map(Number)) columns.push(await measure(count))
const [names = []] = columns
for (const [row, [name]] of names.entries()) {
  console.log(`| ${name} | ${columns.map((column) => column[row]?.[1]).join(' | ')} |`)
}
