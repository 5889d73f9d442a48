/**
 * Debian's Chromium, driven by playwright-core. It makes no connections of its own.
 */
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

const EXECUTABLE = '/usr/bin/chromium'

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** For the `skip` option of a test: false where there is a browser, else why the test is left out. */
export const noBrowser = existsSync(EXECUTABLE)
  ? false
  : 'no Chromium here: apt-get install chromium'

/**
 * @param {import('node:test').TestContext} t - closes it at its end
 * @returns {Promise<import('playwright-core').Browser>}
 */
export async function startBrowser(t) {
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS })
  t.after(() => browser.close())
  return browser
}

/** A page may take so many ms for an action: a machine that has much else to do is slow, not broken. */
const PATIENCE_MS = 120_000

/**
 * @param {import('playwright-core').Browser} browser
 * @param {import('playwright-core').BrowserContextOptions} options
 * @returns {Promise<import('playwright-core').Page>} in a context of its own
 */
export async function openBrowserPage(browser, options) {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(PATIENCE_MS)
  return await context.newPage()
}

/**
 * Presses a key as a person does, who sees the page first: Chromium drops keys that are pressed before it has drawn anything.
 *
 * @param {import('playwright-core').Page} page - that has what the key is for
 * @param {string} key
 */
export async function pressKey(page, key) {
  const draw = () =>
    new Promise((resolve) => /** @type {any} */ (globalThis).requestAnimationFrame(resolve))
  // More than one frame: the callback of the first comes before that frame is drawn.
  for (let frame = 0; frame < 3; frame++) await page.evaluate(draw)
  await page.keyboard.press(key)
}
