import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  madeMessage,
  missing,
  readMailbox,
  readText,
  run,
  sampleMessages,
  startMailServer,
  writeConfig
} from '../helpers/programs.js'

const MESSAGES = 10

/**
 * @param {import('../helpers/programs.js').MailServer} mail
 * @param {'imaps' | 'imap'} scheme
 */
function makeNeomutt(mail, scheme) {
  const folder = `${scheme}://localhost:${mail.ports[scheme]}/`
  const config = writeConfig(join(mail.scratch, 'neomuttrc'), [
    `set folder = "${folder}"`,
    'set spoolfile = "+INBOX"',
    'set record = "+Sent"',
    'set imap_user = "anna@example.org"',
    `set imap_pass = "\`cat ${mail.passwordFile}\`"`,
    'set imap_idle = yes',
    'set imap_condstore = yes',
    'set imap_qresync = yes',
    'set trash = "+Trash"',
    `set certificate_file = "${mail.certificate}"`,
    'set ssl_starttls = yes',
    'set ssl_force_tls = yes',
    `set header_cache = "${join(mail.scratch, 'headers')}"`,
    'set delete = yes',
    'set quit = yes',
    'set confirmappend = no',
    'set confirmcreate = no',
    'set resolve = no',
    'set wait_key = no',
    'set sleep_time = 0',
    'set sort = mailbox-order'
  ])
  /**
   * Its screen is a terminal that nobody watches; what it is told to do comes as keys.
   *
   * @param {string} keys
   * @param {string} [args]
   */
  return async (keys, args = '') => {
    const commands = writeConfig(join(mail.scratch, 'keys'), [`push '${keys}'`])
    const line = `neomutt -n -F ${config} -e 'source ${commands}' ${args}`
    const environment = { HOME: mail.scratch, TERM: 'xterm', LC_ALL: 'C.UTF-8' }
    return await run('script', ['-q', '-e', '-c', line, '/dev/null'], { environment })
  }
}

test(
  'neomutt reads, flags, copies, deletes and files mail',
  { skip: missing('neomutt', 'script') },
  async (t) => {
    const mail = await startMailServer(t)
    const client = await mail.login()
    const messages = sampleMessages(MESSAGES)
    for (const bytes of messages) await client.command('APPEND INBOX', bytes)
    const neomutt = makeNeomutt(mail, 'imaps')

    const raw = join(mail.scratch, 'read.eml')
    const read = await neomutt(`<pipe-message>cat > ${raw}<enter><exit>`)
    assert.equal(read.code, 0, read.output)
    assert.equal(readText(raw), messages[0]?.toString('latin1').replaceAll('\r\n', '\n'))

    const work = await neomutt(
      [
        '<flag-message>',
        '<next-entry><copy-message>=Archive<enter>',
        '<next-entry><save-message>=Projects<enter>',
        '<next-entry><delete-message>',
        '<sync-mailbox><quit>'
      ].join('')
    )
    assert.equal(work.code, 0, work.output)
    const inbox = await readMailbox(client, 'INBOX')
    assert.equal(inbox.length, MESSAGES - 2)
    assert.ok(inbox[0]?.flags.includes('\\Flagged'))
    for (const [mailbox, index] of /** @type {const} */ ([
      ['Archive', 1],
      ['Projects', 2]
    ])) {
      const [copy, ...more] = await readMailbox(client, mailbox)
      assert.equal(more.length, 0)
      assert.ok(copy?.bytes.equals(/** @type {Buffer} */ (messages[index])), mailbox)
    }
  }
)

test(
  'neomutt appends a message from a local mailbox, through STARTTLS',
  { skip: missing('neomutt', 'script') },
  async (t) => {
    const mail = await startMailServer(t)
    const neomutt = makeNeomutt(mail, 'imap')
    const local = join(mail.scratch, 'local')
    for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(local, part), { recursive: true })
    const message = madeMessage('local')
    writeFileSync(join(local, 'cur', '1.host:2,S'), message.toString().replaceAll('\r', ''))
    const { code, output } = await neomutt('<copy-message>=Sent<enter><exit>', `-f ${local}`)
    assert.equal(code, 0, output)
    const [sent] = await readMailbox(await mail.login(), 'Sent')
    assert.deepEqual(sent?.flags, ['\\Seen'])
    assert.match(sent.bytes.toString(), /^Subject: number local\r$/m)
    assert.match(sent.bytes.toString(), /\r\n\r\nGrüße local\r\n$/)
  }
)
