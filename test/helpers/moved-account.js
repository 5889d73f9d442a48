/**
 * Accounts that are copied here from another server over IMAP: filled there, copied by the command, compared.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ImapFlow } from 'imapflow'
import { createAccounts, scratchFolder, startServerProcess } from './process.js'
import { madeMessage, sampleMessages } from './programs.js'

/**
 * @typedef {object} Place
 * @property {number} port
 * @property {string} user
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {Place} place
 */
export async function connect(t, { port, user }) {
  const flow = new ImapFlow({
    host: '127.0.0.1',
    port,
    doSTARTTLS: false,
    auth: { user, pass: 'pass' },
    logger: false,
    disableAutoIdle: true
  })
  flow.on('error', () => {})
  t.after(() => flow.close())
  await flow.connect()
  return flow
}

/**
 * @param {ImapFlow} flow
 * @returns {Promise<Record<string, { uidValidity: string, uidNext: number, messages: string[] }>>} by mailbox, with '/' between levels
 */
export async function snapshot(flow) {
  /** @type {Record<string, { uidValidity: string, uidNext: number, messages: string[] }>} */
  const found = {}
  for (const { path, delimiter } of await flow.list()) {
    const mailbox = await flow.mailboxOpen(path, { readOnly: true })
    const messages = []
    const query = { uid: true, flags: true, internalDate: true, source: true }
    const fetched = mailbox.exists > 0 ? flow.fetch('1:*', query) : []
    for await (const { uid, flags, internalDate, source } of fetched) {
      const hash = createHash('sha256')
        .update(/** @type {Buffer} */ (source))
        .digest('hex')
      const kept = [...(flags ?? [])].filter((flag) => flag !== '\\Recent').sort()
      const date = new Date(internalDate ?? 0).toISOString()
      messages.push(`${uid} ${date} ${kept.join(' ')} ${hash.slice(0, 16)}`)
    }
    found[path.split(delimiter).join('/')] = {
      uidValidity: String(mailbox.uidValidity),
      uidNext: mailbox.uidNext,
      messages
    }
  }
  return found
}

/**
 * @param {ImapFlow} flow
 * @param {{ count: number, folders: string[], large?: boolean }} wanted
 */
export async function fill(flow, { count, folders, large = false }) {
  for (const folder of folders) if (folder !== 'INBOX') await flow.mailboxCreate(folder)
  const samples = sampleMessages(40)
  for (let number = 0; number < count; number++) {
    const flags = ['\\Seen', '\\Flagged', '$Forwarded', 'Project-1'].filter(
      (_, index) => number % (index + 2) === 0
    )
    const bytes = Buffer.concat([
      Buffer.from(`X-Number: ${number}\r\n`),
      samples[number % samples.length] ?? madeMessage(number)
    ])
    const folder = folders[number % folders.length] ?? 'INBOX'
    await flow.append(folder, bytes, flags, new Date(Date.UTC(2020, 0, 1 + number)))
  }
  if (large) {
    const bytes = Buffer.concat([
      madeMessage('large'),
      Buffer.alloc(2_500_000, 'line after line\r\n')
    ])
    await flow.append('INBOX', bytes, [], new Date(Date.UTC(2021, 0, 1)))
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ data: string, account: string }>} that no server has open
 */
export async function makeTarget(t) {
  const data = join(scratchFolder(t, 'moving-in'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['ann@example.org'])
  return { data, account: 'ann@example.org' }
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ data: string, account: string, read: () => Promise<ImapFlow> }>}
 */
export async function startTarget(t) {
  const target = await makeTarget(t)
  const server = await startServerProcess(t, { data: target.data })
  return { ...target, read: () => connect(t, { port: server.ports.imap, user: target.account }) }
}

/**
 * @param {{ data: string, account: string }} target
 * @param {Place} source
 * @param {string[]} [more]
 */
export const commandOf = ({ data, account }, { port, user }, more = []) => [
  ...['import', 'imap', '--from', `imap://${encodeURIComponent(user)}@127.0.0.1:${port}`],
  ...['--account', account, '--data', data, '--plaintext', '--password-stdin', ...more]
]

export const PASSWORDS = 'pass\npass\n'
