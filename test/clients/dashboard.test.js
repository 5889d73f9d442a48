/**
 * The dashboard in a real browser, over 10,000 accounts.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3-multiple-ciphers'
import { startAdmin } from '../helpers/admin.js'
import { noBrowser, openBrowserPage, startBrowser } from '../helpers/browser.js'
import { PASSWORD } from '../helpers/server.js'
import { WireClient } from '../helpers/wire-client.js'

const ACCOUNTS = 10_000
const DOMAINS = ['acme.example', 'birch.example', 'cedar.example', 'example.org']

/** With it, the pictures of docs/images are made anew. */
const IMAGES = process.env['LETTERLOCK_TEST_IMAGES']

/**
 * Rows of a large host, straight into the directory: their mailboxes are not needed here.
 *
 * @param {string} data
 * @param {number} nowMs
 */
function fillDirectory(data, nowMs) {
  const db = new Database(join(data, 'directory.db'), { timeout: 5000 })
  const number = (/** @type {string} */ seed) =>
    createHash('sha256').update(seed).digest().readUInt32LE(0)
  const account = db.prepare(
    `INSERT INTO accounts (id, domain_id, address, folder, created_at_ms, is_enabled, cipher, quota_bytes, used_bytes,
       used_messages)
     VALUES (?, (SELECT id FROM domains WHERE name = ?), ?, ?, ?, ?, 'chacha20', ?, ?, ?)`
  )
  const seal = db.prepare("INSERT INTO account_seals VALUES (?, 'age1pq1', x'00')")
  const address = db.prepare('INSERT INTO addresses (address, account_id) VALUES (?, ?)')
  const space = db.prepare(
    'INSERT INTO maintenance_accounts (account_id, file_bytes, free_bytes, measured_at_ms) VALUES (?, ?, ?, ?)'
  )
  const run = db.prepare(
    `INSERT INTO maintenance_runs (at_ms, account_id, job, why, result, note, before, after, took_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  )
  const page = Buffer.alloc(4096, 1)
  const names = ['anna', 'ben', 'clara', 'david', 'eva', 'finn', 'greta', 'hugo', 'ida', 'jonas']
  db.exec('BEGIN IMMEDIATE')
  for (const name of DOMAINS) {
    db.prepare('INSERT OR IGNORE INTO tenants (id, created_at_ms) VALUES (?, ?)').run(name, nowMs)
    db.prepare(
      'INSERT OR IGNORE INTO domains (name, created_at_ms, tenant_id) VALUES (?, ?, ?)'
    ).run(name, nowMs, name)
  }
  for (let index = 0; index < ACCOUNTS; index++) {
    const id = randomBytes(8).toString('hex')
    const seed = number(`account ${index}`)
    const domain = DOMAINS[seed % 3] ?? ''
    const where = `${names[index % names.length]}.${String(index).padStart(5, '0')}@${domain}`
    const bytes = (seed % 4000) * 1_000_000
    const made = nowMs - (seed % 400) * 86_400_000
    account.run(
      id,
      domain,
      where,
      `mail/${id}`,
      made,
      seed % 97 ? 1 : 0,
      seed % 5 ? 5e9 : 0,
      bytes,
      bytes / 40_000
    )
    seal.run(id)
    address.run(where, id)
    mkdirSync(join(data, 'mail', id))
    writeFileSync(join(data, 'mail', id, 'mail.db'), page)
    space.run(
      id,
      Math.round(bytes * 0.6) + 40_960,
      Math.round(bytes * 0.6 * ((seed % 31) / 80)),
      nowMs
    )
    if (index % 100) continue
    const [job, why, result, note, before, after] =
      [
        [
          'space',
          'free 37 %',
          'done',
          null,
          { fileBytes: 9e8, freeBytes: 3.3e8 },
          { fileBytes: 5.7e8, freeBytes: 0 }
        ],
        ['quick-check', 'by schedule', 'done', null, {}, {}],
        ['vacuum', 'free 28 %', 'stopped', 'SHUTTING_DOWN', {}, {}]
      ][(index / 100) % 3] ?? []
    run.run(
      nowMs - index * 60_000,
      id,
      job,
      why,
      result,
      note,
      JSON.stringify(before),
      JSON.stringify(after),
      (seed % 4000) + 20
    )
  }
  db.exec('COMMIT')
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

/**
 * @param {import('node:test').TestContext} t
 */
async function startLargeHost(t) {
  const parts = await startAdmin(t, { users: ['anna', 'ben'] })
  const nowMs = parts.services.clock.nowMs()
  fillDirectory(parts.data, nowMs)
  for (const name of ['anna', 'ben']) {
    const client = await WireClient.connect(parts.port)
    t.after(() => client.destroy())
    await client.login(`${name}@example.org`, `"${PASSWORD}"`)
    await client.command('SELECT INBOX')
  }
  const { port } = await parts.admin.listen({ host: '127.0.0.1', port: 0 })
  return { ...parts, base: `http://127.0.0.1:${port}` }
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} base
 * @param {'light' | 'dark'} colorScheme
 */
async function openPage(browser, base, colorScheme = 'light') {
  const page = await openBrowserPage(browser, {
    viewport: { width: 1280, height: 860 },
    colorScheme
  })
  /** @type {string[]} */
  const faults = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('401')) faults.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(base)) faults.push(`asked ${request.url()}`)
  })
  await page.goto(`${base}/`)
  return { page, faults }
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} token
 */
async function logIn(page, token) {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
}

/**
 * Something to be seen in the charts.
 *
 * @param {{ port: number }} server
 */
async function busyMinute({ port }) {
  const client = await WireClient.connect(port)
  await client.login('anna@example.org', `"${PASSWORD}"`)
  for (let second = 0; second < 60; second++) {
    for (let index = 0; index < 20 + 15 * Math.sin(second / 6); index++)
      await client.command('NOOP')
    await sleep(1000)
  }
  client.destroy()
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} name
 */
async function picture(page, name) {
  if (!IMAGES) return
  await mkdir(IMAGES, { recursive: true })
  await page.screenshot({ path: join(IMAGES, `${name}.png`) })
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} ending - of the address
 * @returns {() => number} how many such requests the page has sent since
 */
function countRequests(page, ending) {
  let count = 0
  page.on('request', (request) => {
    if (request.url().endsWith(ending)) count++
  })
  return () => count
}

test(
  'the dashboard shows a host of 10,000 accounts: health, charts, search, order, pages',
  { skip: noBrowser },
  async (t) => {
    const parts = await startLargeHost(t)
    const { base, token, services } = parts
    const browser = await startBrowser(t)
    const { page, faults } = await openPage(browser, base)
    await logIn(page, 'lltok_wrong')
    await page.getByRole('alert').filter({ hasText: 'not known' }).waitFor()
    await logIn(page, await token(['all']))
    await page.locator('#status').waitFor()
    if (IMAGES) await busyMinute(parts)
    assert.equal(await page.locator('.check').count(), 10)
    assert.ok((await page.locator('.chart canvas').count()) >= 6)
    assert.match(await page.locator('main').innerText(), /10,002/)
    await picture(page, 'dashboard-overview')

    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.getByText(`1–50 of ${(ACCOUNTS + 2).toLocaleString('en')}`).waitFor()
    await page.getByRole('button', { name: 'Mail' }).click()
    await page.locator('th[aria-sort=descending]').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('51–100 of').waitFor()
    await page.getByRole('button', { name: 'Free in it' }).click()
    await page.getByText('1–50 of').waitFor()
    await picture(page, 'dashboard-accounts')
    await page.getByRole('searchbox').fill('clara.00002')
    await page.getByText('1–1 of 1').waitFor()
    assert.match(await page.locator('tbody').innerText(), /clara\.00002@/)
    await page.getByRole('searchbox').fill('anna@example.org')
    await page.getByRole('button', { name: 'anna@example.org' }).press('Enter')
    await page.getByRole('dialog', { name: 'anna@example.org' }).getByText('recovery').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    const asked = countRequests(page, '/credentials')
    await page.getByRole('button', { name: 'anna@example.org' }).dblclick()
    await page.getByRole('dialog', { name: 'anna@example.org' }).waitFor()
    assert.equal(asked(), 1)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()

    for (const [name, text] of /** @type {[string, RegExp][]} */ ([
      ['Tenants', /birch\.example/],
      ['Backups', /No backups are set up/],
      ['Maintenance', /vacuum/],
      ['Audit', /login/]
    ])) {
      await page.getByRole('link', { name }).click()
      await page.locator('main .card').filter({ hasText: text }).waitFor()
      await picture(page, `dashboard-${name.toLowerCase()}`)
    }

    await page.getByRole('link', { name: 'Sessions' }).click()
    const row = page.locator('tbody tr', { hasText: 'ben@example.org' })
    await row.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('1–1 of 1').waitFor()
    for (let index = 0; index < 50; index++) {
      const client = await WireClient.connect(parts.port)
      t.after(() => client.destroy())
      await client.login('anna@example.org', `"${PASSWORD}"`)
    }
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.locator('main .card').filter({ hasText: 'login' }).waitFor()
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByText('1–50 of 51').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('51–51 of 51').waitFor()
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('1–50 of 50').waitFor()
    assert.deepEqual(faults, [])

    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    await services.directory.flush()
    const [write] = await services.directory.pageAudit({ action: 'api-write', limit: 1 })
    assert.equal(write?.detail?.['operation'], 'endSession')
  }
)

test(
  'a tenant’s token has no page of the whole host; names are shown as text, whatever they are',
  { skip: noBrowser },
  async (t) => {
    const { base, token, services, addAccount } = await startLargeHost(t)
    const { directory } = services
    const account = await addAccount('anna@birch.example')
    await directory.updateTenant('birch.example', { label: '<img src=x onerror=alert(1)>' })
    const browser = await startBrowser(t)
    const { page, faults } = await openPage(browser, base, 'dark')
    await logIn(page, await token(['read'], 'birch.example'))
    await page.getByRole('heading', { name: 'Accounts' }).waitFor()
    await page.getByText(/1–50 of/).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Overview' }).count(), 0)
    assert.doesNotMatch(await page.locator('main').innerText(), /acme|cedar|example\.org/)
    await page.getByRole('link', { name: 'Tenants' }).click()
    await page.getByText('<img src=x onerror=alert(1)>').waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(faults, [])
    assert.equal(account.tenant, 'birch.example')

    const other = await openPage(browser, base, 'dark')
    await logIn(other.page, await token(['all']))
    await other.page.locator('#status').waitFor()
    await picture(other.page, 'dashboard-overview-dark')
    assert.deepEqual(other.faults, [])
  }
)

test(
  'the overview goes on by itself when a server that did not answer is back',
  { skip: noBrowser },
  async (t) => {
    const { admin, token } = await startAdmin(t)
    const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
    const browser = await startBrowser(t)
    const { page } = await openPage(browser, `http://127.0.0.1:${port}`)
    await logIn(page, await token(['read']))
    const status = page.locator('#status')
    await status.waitFor()
    await page.context().setOffline(true)
    await status.filter({ hasText: 'No answer' }).waitFor()
    assert.equal(await page.locator('.check').count(), 10, 'what was known is still there')
    await page.context().setOffline(false)
    await status.filter({ hasNotText: 'No answer' }).waitFor()
  }
)

test(
  'a page that could not be shown is shown anew by its own link; a session that has gone is no failure',
  { skip: noBrowser },
  async (t) => {
    const { admin, port: imapPort, token } = await startAdmin(t, { users: ['anna'] })
    const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
    const client = await WireClient.connect(imapPort)
    t.after(() => client.destroy())
    await client.login('anna@example.org', `"${PASSWORD}"`)
    const browser = await startBrowser(t)
    const { page } = await openPage(browser, `http://127.0.0.1:${port}`)
    await logIn(page, await token(['all']))
    await page.locator('#status').waitFor()
    await page.route('**/v1/sessions*', (route) => route.abort(), { times: 1 })
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByText('1–1 of 1').waitFor()
    await client.command('LOGOUT')
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('Nothing here').waitFor()
  }
)

test(
  'what is no token, or is none any more, leads back to the login; each scope has its pages',
  { skip: noBrowser },
  async (t) => {
    const { admin, services, token } = await startAdmin(t, { users: ['anna'] })
    const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
    const browser = await startBrowser(t)
    const { page, faults } = await openPage(browser, `http://127.0.0.1:${port}`)
    // No header can have the sign at its end.
    await logIn(page, 'lltok_…')
    await page.getByRole('alert').filter({ hasText: 'not known' }).waitFor()

    await logIn(page, await token(['accounts']))
    await page.getByText('1–1 of 1').waitFor()
    for (const { id } of await services.directory.listApiTokens()) {
      await services.directory.deleteApiToken(id)
    }
    await page.getByRole('button', { name: 'Mail' }).click()
    await page.getByRole('alert').filter({ hasText: 'not any more' }).waitFor()

    await logIn(page, await token(['backups']))
    await page.getByRole('heading', { name: 'Backups' }).waitFor()
    await page.getByRole('link', { name: 'Maintenance' }).click()
    await page.getByRole('heading', { name: 'Maintenance' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Accounts' }).count(), 0)
    assert.deepEqual(faults, [])
  }
)
