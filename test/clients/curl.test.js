import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  missing,
  PASSWORD,
  run,
  sampleMessages,
  startMailServer,
  writeConfig
} from '../helpers/programs.js'

const skip = missing('curl')
const MESSAGES = 12
/** What curl exits with when a login is refused. */
const LOGIN_DENIED = 67

/**
 * @param {import('../helpers/programs.js').MailServer} mail
 * @param {'imaps' | 'imap'} scheme
 * @param {{ password?: string, trust?: string[] }} [options]
 */
function makeCurl(mail, scheme, { password = PASSWORD, trust } = {}) {
  const quoted = password.replace(/["\\]/g, '\\$&')
  const config = writeConfig(join(mail.scratch, 'curlrc'), [
    `user = "anna@example.org:${quoted}"`,
    ...(trust ?? [`cacert = "${mail.certificate}"`]),
    ...(scheme === 'imap' ? ['ssl-reqd'] : []),
    'silent',
    'show-error',
    'max-time = 60'
  ])
  return (/** @type {string} */ path, /** @type {string[]} */ ...args) =>
    run('curl', ['-K', config, `${scheme}://localhost:${mail.ports[scheme]}/${path}`, ...args])
}

for (const scheme of /** @type {const} */ (['imaps', 'imap'])) {
  const how = scheme === 'imaps' ? 'TLS' : 'STARTTLS'
  test(`curl lists, appends, fetches and searches through ${how}`, { skip }, async (t) => {
    const mail = await startMailServer(t)
    const curl = makeCurl(mail, scheme)
    const list = await curl('')
    assert.equal(list.code, 0, list.output)
    for (const name of ['INBOX', 'Sent', 'Trash'])
      assert.match(list.output, new RegExp(` ${name}\\r`))

    assert.equal((await curl('', '-X', 'CREATE Post')).code, 0)
    const messages = sampleMessages(MESSAGES)
    for (const [index, bytes] of messages.entries()) {
      const file = join(mail.scratch, `${index}.eml`)
      writeFileSync(file, bytes)
      const { code, output } = await curl('Post', '-T', file)
      assert.equal(code, 0, output)
    }
    for (const [index, bytes] of messages.entries()) {
      const file = join(mail.scratch, 'fetched.eml')
      const { code, output } = await curl(`Post;MAILINDEX=${index + 1}`, '-o', file)
      assert.equal(code, 0, output)
      assert.ok(readFileSync(file).equals(bytes), `message ${index + 1} comes back byte for byte`)
    }

    const header = await curl('Post;UID=1;SECTION=HEADER.FIELDS%20(SUBJECT)')
    assert.match(header.output, /^Subject:/i)
    const found = await curl('Post?UID%203')
    assert.equal(found.output.trim(), '* SEARCH 3')
    const stored = await curl('Post', '-X', 'UID STORE 1:2 +FLAGS (\\Deleted)')
    assert.match(stored.output, /UID 2 FLAGS \(\\Deleted/)
    assert.equal((await curl('Post', '-X', 'EXPUNGE')).code, 0)
    const examined = await curl('', '-X', 'EXAMINE Post')
    assert.match(examined.output, new RegExp(`^\\* ${MESSAGES - 2} EXISTS`, 'm'))
    assert.notEqual((await curl('Post', '-X', 'COPY 1 Nowhere')).code, 0)
  })
}

test(
  'curl is refused with a wrong password, and does not trust a stranger’s certificate',
  { skip },
  async (t) => {
    const mail = await startMailServer(t)
    const wrong = await makeCurl(mail, 'imaps', { password: 'guess' })('')
    assert.equal(wrong.code, LOGIN_DENIED, wrong.output)
    const distrustful = await makeCurl(mail, 'imaps', { trust: [] })('')
    assert.equal(distrustful.code, 60, 'the certificate is self-signed')
  }
)
