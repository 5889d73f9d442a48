/**
 * The page for users in a real browser, which runs no script on it.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { noBrowser, openBrowserPage, pressKey, startBrowser } from '../helpers/browser.js'
import { PASSWORD } from '../helpers/server.js'
import { startUserPage } from '../helpers/user-page.js'

/** With it, the pictures of docs/images are made anew. */
const IMAGES = process.env['LETTERLOCK_TEST_IMAGES']

const NAME = 'alice@example.org'

test(
  'a person logs in, makes and uses an app password, changes the password, downloads the mailbox and logs out',
  { skip: noBrowser },
  async (t) => {
    const settings = { 'accounts.quotaBytes': 2_000_000_000, 'accounts.quotaMessages': 0 }
    const server = await startUserPage(t, { settings })
    const id = await server.accountId('alice')
    server.services.directory.recordUsage(id, { bytes: 743_000_000, messages: 18_204 })
    await server.services.directory.flush()
    const browser = await startBrowser(t)
    const page = await openBrowserPage(browser, {
      ignoreHTTPSErrors: true,
      viewport: { width: 1100, height: 820 }
    })
    /** @type {string[]} */
    const complaints = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    const picture = async (/** @type {string} */ name) => {
      if (IMAGES === undefined) return
      await mkdir(IMAGES, { recursive: true })
      await page.screenshot({ path: join(IMAGES, `${name}.png`), fullPage: true })
    }
    // The page before has a heading, too: it is there until the next one comes.
    const isAt = (/** @type {string} */ name) =>
      page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

    await page.goto(`https://127.0.0.1:${server.pagePort}/app-passwords`)
    await isAt('Log in')
    await page.getByLabel('Mail address').fill(NAME)
    await page.getByLabel('Password of the mailbox').fill('a wrong one')
    await page.getByRole('button', { name: 'Log in' }).click()
    assert.match(String(await page.getByRole('alert').textContent()), /not right/)
    // The browser says that the server has refused it, and nothing else.
    while (complaints.length === 0) await sleep(10)
    assert.match(complaints.splice(0).join(), /^Failed to load resource[^,]*403[^,]*$/)
    await page.getByLabel('Password of the mailbox').fill(PASSWORD)
    await pressKey(page, 'Enter')
    await page.waitForURL(`https://127.0.0.1:${server.pagePort}/`)
    await isAt('Your mailbox')
    await picture('user-page')

    await page.getByRole('link', { name: 'App passwords' }).click()
    await page.getByLabel('Name of the device or program').fill('Phone')
    await page.getByLabel('Only read').check()
    await page.getByLabel('Last day').fill('2099-12-31')
    await page.getByLabel('Password of the mailbox').fill(PASSWORD)
    await page.getByRole('button', { name: 'Make an app password' }).click()
    const code = String(await page.locator('.code').textContent()).trim()
    const phone = await server.connectImap()
    await phone.command('ID ("name" "Mail" "version" "17.2")')
    await phone.login('alice', code)
    await server.services.directory.flush()

    await page.getByRole('link', { name: 'Sessions' }).click()
    await isAt('Sessions')
    assert.match(String(await page.getByRole('row').nth(1).textContent()), /Mail 17\.2.*Phone/s)
    await page.emulateMedia({ colorScheme: 'dark' })
    await picture('user-page-sessions')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByRole('button', { name: 'Disconnect Mail 17.2' }).click()
    assert.match(String(await page.getByRole('status').textContent()), /disconnected/)
    await phone.until(/\* BYE/)

    await page.getByRole('link', { name: 'Download' }).click()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click()
    ])
    assert.match(download.suggestedFilename(), /^alice@example\.org-[\d-]+\.letterlock$/)
    assert.equal(await download.failure(), null)

    await page.getByRole('link', { name: 'Password', exact: true }).click()
    await page.getByLabel('Present password').fill(PASSWORD)
    await page.getByLabel('New password', { exact: true }).fill('a much better one')
    await page.getByLabel('New password, once more').fill('a much better one')
    await page.getByRole('button', { name: 'Change the password' }).click()
    assert.match(String(await page.getByRole('status').textContent()), /was changed/)
    assert.match(await server.logIntoImap('alice', 'a much better one'), /^OK/)

    // By the keyboard alone, one comes to the content first, then to what is there.
    await page.getByRole('link', { name: 'App passwords' }).click()
    await isAt('App passwords')
    await picture('user-page-app-passwords')
    await pressKey(page, 'Tab')
    assert.equal(await page.locator(':focus').textContent(), 'Skip to the content')
    const unlabelled = page.locator('input:not([type=hidden], [hidden])')
    for (const input of await unlabelled.all()) {
      assert.ok(await input.evaluate((node) => /** @type {any} */ (node).labels.length > 0))
    }
    await page.getByRole('button', { name: 'Log out' }).click()
    await isAt('Log in')
    assert.deepEqual(await page.context().cookies(), [])
    assert.deepEqual(complaints, [])
  }
)
