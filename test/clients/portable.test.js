import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ImapFlow } from 'imapflow'
import { createAccounts, letterlock, MAIN, scratchFolder } from '../helpers/process.js'
import { madeMessage } from '../helpers/programs.js'
import { writeFileSync } from 'node:fs'

/**
 * @param {import('node:test').TestContext} t
 * @param {number} port
 * @param {string} pass
 */
async function connect(t, port, pass) {
  const options = { host: '127.0.0.1', port, doSTARTTLS: false, auth: { user: 'anybody', pass } }
  const flow = new ImapFlow({ ...options, logger: false, disableAutoIdle: true })
  flow.on('error', () => {})
  t.after(() => flow.close())
  await flow.connect()
  return flow
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string[]} args - of `letterlock open`
 * @param {string} password
 */
async function opened(t, args, password) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  t.after(() => child.kill('SIGKILL'))
  child.stdin.end(`${password}\n`)
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    if (/^ready$/m.test(text)) break
  }
  return { child, closed, port: Number(/127\.0\.0\.1:(\d+)/.exec(text)?.[1]) }
}

test('a mailbox is exported as files and as one file, which a mail program reads and cannot change', async (t) => {
  const scratch = scratchFolder(t, 'portable')
  const data = join(scratch, 'data')
  mkdirSync(data)
  await createAccounts(data, ['ann@example.org'])
  writeFileSync(join(scratch, 'one.eml'), madeMessage('one'))
  const common = ['--account', 'ann@example.org', '--data', data, '--password-stdin']
  const pass = { input: 'pass\n' }
  const brought = await letterlock(['import', join(scratch, 'one.eml'), ...common], pass)
  assert.equal(brought.code, 0, brought.stderr)

  const tree = join(scratch, 'tree')
  const written = await letterlock(['export', tree, '--format', 'eml', ...common], pass)
  assert.equal(written.code, 0, written.stderr)
  assert.match(written.stdout, /^1 message of 6 mailboxes/)
  assert.deepEqual(readFileSync(join(tree, 'INBOX', '00000001.eml')), madeMessage('one'))
  const again = await letterlock(['export', tree, ...common], pass)
  assert.deepEqual([again.code, again.stdout], [2, ''])
  assert.match(again.stderr, /the folder is not empty/)

  const file = join(scratch, 'ann.letterlock')
  const made = await letterlock(['export', '--file', file, ...common], pass)
  assert.equal(made.code, 0, made.stderr)
  const wrong = await letterlock(['open', file, '--password-stdin'], { input: 'wrong\n' })
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /The password is not that of this file/)

  const copies = join(scratch, 'copies')
  mkdirSync(copies)
  const args = [MAIN, 'open', file, '--password-stdin', '--scratch', copies]
  const { child, closed, port } = await opened(t, args, 'pass')
  await assert.rejects(connect(t, port, 'wrong'))
  const flow = await connect(t, port, 'pass')
  const before = readFileSync(file)
  const mailbox = await flow.mailboxOpen('INBOX')
  assert.equal(mailbox.readOnly, true, 'SELECT is EXAMINE')
  const message = await flow.fetchOne('1', { source: true, envelope: true, bodyStructure: true })
  assert.deepEqual(message && message.source, madeMessage('one'))
  assert.deepEqual(await flow.search({ body: 'Grüße' }), [1])
  assert.equal(await flow.messageFlagsAdd('1', ['\\Seen']), false)
  await assert.rejects(flow.mailboxCreate('New'))
  await assert.rejects(flow.append('INBOX', madeMessage('two')))
  assert.equal(readdirSync(copies).length, 1)
  child.kill('SIGINT')
  assert.deepEqual(await closed, [0, null])
  assert.deepEqual(readdirSync(copies), [])
  assert.deepEqual(readFileSync(file), before)
})

test('a portable mailbox takes its password composed and decomposed', async (t) => {
  const scratch = scratchFolder(t, 'portable')
  const data = join(scratch, 'data')
  mkdirSync(data)
  const [composed, decomposed] = ['NFC', 'NFD'].map((form) => 'Größe-Überall'.normalize(form))
  await createAccounts(data, ['ann@example.org'], composed)
  const file = join(scratch, 'ann.letterlock')
  const common = ['--account', 'ann@example.org', '--data', data, '--password-stdin']
  const made = await letterlock(['export', '--file', file, ...common], { input: `${composed}\n` })
  assert.equal(made.code, 0, made.stderr)
  const args = [MAIN, 'open', file, '--password-stdin', '--scratch', scratch]
  const { child, closed, port } = await opened(t, args, String(decomposed))
  for (const password of [composed, decomposed]) await connect(t, port, String(password))
  await assert.rejects(connect(t, port, 'Große-Uberall'))
  child.kill('SIGINT')
  assert.deepEqual(await closed, [0, null])
})
