import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  openSync,
  readSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeSync
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

const PAGE_BYTES = 4096
const MESSAGES = 40
const HURT = 'hurt@example.org'
const WELL = 'well@example.org'

/**
 * @param {import('node:test').TestContext} t
 * @param {string} name - of its folder
 * @returns {Promise<{ data: string, run: (args: string[], input?: string) => ReturnType<typeof letterlock> }>} two accounts,
 *   backups set up, nothing running
 */
async function hostWithBackups(t, name) {
  const root = scratchFolder(t, name)
  const data = join(root, 'data')
  await createAccounts(data, [HURT, WELL])
  const environment = { LETTERLOCK_BACKUP_FOLDER: join(root, 'target') }
  const run = (/** @type {string[]} */ args, input = '') =>
    letterlock([...args, '--data', data], { input, environment })
  assert.equal((await run(['backup', 'init'])).code, 0)
  return { data, run }
}

/**
 * @param {string} path
 * @param {number} offset - bytes
 */
function flipByte(path, offset) {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, offset)
  byte[0] = (byte[0] ?? 0) ^ 0xff
  writeSync(file, byte, 0, 1, offset)
  closeSync(file)
}

/**
 * @param {number} port
 * @param {string} user
 */
async function fill(port, user) {
  const client = await WireClient.connect(port)
  await client.login(user)
  for (let i = 0; i < MESSAGES; i++) {
    // Noise does not shrink: the bodies fill most pages of the file.
    const noise = Buffer.from(randomBytes(30_000).toString('base64'))
    await client.command(
      'APPEND INBOX',
      Buffer.concat([Buffer.from(`Subject: ${i}\r\n\r\n`), noise])
    )
  }
  client.destroy()
}

/**
 * @param {number} port
 * @param {string} user
 * @returns {Promise<(string | null)[]>} of each message in INBOX; null where the answer was NO [CORRUPTION]
 */
async function bodiesOf(port, user) {
  const client = await WireClient.connect(port)
  await client.login(user)
  const [, count] = /\* (\d+) EXISTS/.exec(await client.command('SELECT INBOX')) ?? []
  const bodies = []
  for (let i = 1; i <= Number(count); i++) {
    const answer = await client.command(`FETCH ${i} BODY.PEEK[]`)
    const isLost = /^w\d+ NO \[CORRUPTION\]/m.test(answer)
    if (!isLost) assert.match(answer, /w\d+ OK/)
    bodies.push(isLost ? null : (/\{\d+\}\r\n([^]*)\)\r\nw\d+ OK/.exec(answer)?.[1] ?? ''))
  }
  client.destroy()
  return bodies
}

/**
 * @param {(args: string[]) => Promise<{ stdout: string }>} run
 * @param {string} user
 * @returns {Promise<string>}
 */
const folderOf = async (run, user) =>
  JSON.parse((await run(['account', 'show', user, '--json'])).stdout).folder

test('a damaged mailbox answers [CORRUPTION] for what is lost and gives the rest; others notice nothing', async (t) => {
  const data = join(scratchFolder(t, 'damage'), 'data')
  await createAccounts(data, [HURT, WELL])
  const first = await startServerProcess(t, { data })
  for (const user of [HURT, WELL]) await fill(first.ports.imap, user)
  await first.stop()
  const shown = await letterlock(['account', 'show', HURT, '--data', data, '--json'])
  const { folder } = JSON.parse(shown.stdout)
  const mailbox = join(folder, readdirSync(folder).find((name) => name === 'mail.db') ?? '')
  // A page in the middle: with most of the file in bodies, it is one of a body.
  flipByte(mailbox, PAGE_BYTES * 100 + 1000)

  const server = await startServerProcess(t, { data })
  const hurt = await WireClient.connect(server.ports.imap)
  const well = await WireClient.connect(server.ports.imap)
  await hurt.login(HURT)
  await well.login(WELL)
  await hurt.command('SELECT INBOX')
  await well.command('SELECT INBOX')
  let lost = 0
  for (let i = 1; i <= MESSAGES; i++) {
    const answer = await hurt.command(`FETCH ${i} BODY.PEEK[]`)
    if (/^w\d+ NO \[CORRUPTION\]/m.test(answer)) lost++
    else assert.match(answer, /w\d+ OK/)
    assert.match(await well.command(`FETCH ${i} BODY.PEEK[]`), /w\d+ OK/)
  }
  assert.ok(lost >= 1 && lost < MESSAGES, `${lost} of ${MESSAGES} messages were lost`)
  assert.match(await hurt.command('NOOP'), /OK/)
  hurt.destroy()
  well.destroy()
  assert.match(server.output(), /"code":"ACCOUNT_DAMAGED"/)
  assert.equal(await server.stop(), 0)

  const check = (/** @type {string} */ user) =>
    letterlock(['check', user, '--data', data, '--password-stdin'], { input: 'pass\n' })
  const checked = await check(HURT)
  assert.equal(checked.code, 1)
  assert.match(checked.stderr, /^letterlock: cannot be read: UID \d+ in INBOX$/m)
  assert.equal((await check(WELL)).code, 0)
})

test('from a flipped byte to the last message: told, named by health, repaired with a list of losses, restored in full', async (t) => {
  const { data, run } = await hostWithBackups(t, 'damage-story')
  const first = await startServerProcess(t, { data })
  for (const user of [HURT, WELL]) await fill(first.ports.imap, user)
  const before = await bodiesOf(first.ports.imap, HURT)
  assert.equal((await run(['backup', 'run'])).code, 0)
  await first.stop()
  flipByte(join(await folderOf(run, HURT), 'mail.db'), PAGE_BYTES * 100 + 1000)

  // The user is told, message by message; others notice nothing; health names the mailbox.
  const server = await startServerProcess(t, {
    data,
    environment: { LETTERLOCK_ACCOUNTS_LINGER_MS: '0' }
  })
  const id = (await folderOf(run, HURT)).split('/').at(-1) ?? ''
  const health = async () => {
    const answer = await fetch(`http://127.0.0.1:${server.ports.admin}/health/maintenance`)
    return { .../** @type {any} */ (await answer.json()), httpStatus: answer.status }
  }
  assert.equal((await health()).failingTotal, 0)
  const damaged = await bodiesOf(server.ports.imap, HURT)
  const lost = damaged.flatMap((body, index) => (body === null ? [index + 1] : []))
  assert.ok(lost.length >= 1 && lost.length < 5, `${lost.length} lost`)
  assert.ok(!(await bodiesOf(server.ports.imap, WELL)).includes(null))
  while ((await health()).failingTotal === 0) await sleep(50)
  const { httpStatus, failing } = await health()
  assert.equal(httpStatus, 503)
  assert.deepEqual(
    failing.map((/** @type {any} */ one) => [one.accountId, one.code]),
    [[id, 'ACCOUNT_DAMAGED']]
  )

  // Repair: every other message, and a list of what is gone. The mailbox is closed by itself.
  let repaired = await run(['repair', HURT, '--password-stdin'], 'pass\n')
  while (repaired.code === 2 && /The mailbox is open/.test(repaired.stderr))
    repaired = await run(['repair', HURT, '--password-stdin'], 'pass\n')
  assert.equal(repaired.code, 1, repaired.stdout + repaired.stderr)
  assert.match(repaired.stdout, new RegExp(`^${MESSAGES - lost.length} messages, .* saved$`, 'm'))
  const told = [...repaired.stdout.matchAll(/^lost\tINBOX\tUID (\d+)\t/gm)].map(([, uid]) =>
    Number(uid)
  )
  assert.deepEqual(told, lost)
  assert.deepEqual(
    await bodiesOf(server.ports.imap, HURT),
    before.filter((_, index) => !lost.includes(index + 1))
  )
  assert.equal((await health()).failingTotal, 0)
  assert.equal((await run(['check', HURT, '--password-stdin'], 'pass\n')).code, 0)

  // And the backup has what repair has not.
  const restored = await run(['backup', 'restore', HURT, '--yes'])
  assert.equal(restored.code, 0, restored.stderr)
  assert.deepEqual(await bodiesOf(server.ports.imap, HURT), before)
  assert.equal(await server.stop(), 0)
  assert.equal((await run(['check', HURT, '--password-stdin'], 'pass\n')).code, 0)
})

for (const [what, hurt] of /** @type {[string, (path: string) => void][]} */ ([
  ['does not even open', (path) => flipByte(path, 200)],
  ['is gone', (path) => rmSync(path)],
  ['has become an empty file', (path) => truncateSync(path)]
]))
  test(`a mailbox that ${what} is named by health too, until a restore has brought it back`, async (t) => {
    const { data, run } = await hostWithBackups(t, 'damage-first-page')
    assert.equal((await run(['backup', 'run'])).code, 0)
    hurt(join(await folderOf(run, HURT), 'mail.db'))
    const server = await startServerProcess(t, { data })
    const client = await WireClient.connect(server.ports.imap)
    assert.match(await client.command(`LOGIN ${HURT} pass`), /^w1 NO \[CORRUPTION\]/)
    client.destroy()
    assert.ok(!(await bodiesOf(server.ports.imap, WELL)).includes(null))
    const failing = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.ports.admin}/health/maintenance`)
      return /** @type {any} */ (await answer.json()).failing
    }
    while ((await failing()).length === 0) await sleep(50)
    assert.equal((await failing())[0].code, 'ACCOUNT_DAMAGED')
    const restored = await run(['backup', 'restore', HURT, '--yes'])
    assert.equal(restored.code, 0, restored.stderr)
    assert.ok(!(await bodiesOf(server.ports.imap, HURT)).includes(null))
    while ((await failing()).length > 0) await sleep(50)
  })
