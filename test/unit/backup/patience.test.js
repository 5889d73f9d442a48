import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Patience } from '../../../src/backup/targets/patience.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { listed, s3At } from '../../helpers/s3-target.js'

/**
 * @typedef {object} Answer
 * @property {number} [status] - default: 200
 * @property {Record<string, string>} [headers]
 * @property {string} [text]
 */

const AWAY = { status: 503, text: '<Error><Code>SlowDown</Code><Message>later</Message></Error>' }
const page = (/** @type {string} */ name, /** @type {string} */ next) => ({
  text:
    `<ListBucketResult><Name>backups</Name><IsTruncated>${next !== ''}</IsTruncated>` +
    (next && `<NextContinuationToken>${next}</NextContinuationToken>`) +
    `<Contents><Key>host-1/${name}</Key><Size>1</Size></Contents></ListBucketResult>`
})

/**
 * @param {import('node:test').TestContext} t
 * @param {(Answer | 'cut')[]} answers - one after the other; the last stays; cut: the connection ends
 * @param {{ isFirstToo?: boolean, waitFor?: number }} [how] - the server is gone for as many pauses
 */
async function placeThat(t, answers, { isFirstToo = true, waitFor = 0 } = {}) {
  /** @type {string[]} */
  const asked = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      asked.push(`${request.method} ${request.url}`)
      const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? {}
      if (answer === 'cut') return request.socket.destroy()
      return response.writeHead(answer.status ?? 200, answer.headers).end(answer.text)
    })
  })
  const begin = async (/** @type {number} */ port) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return /** @type {import('node:net').AddressInfo} */ (server.address()).port
  }
  const end = () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(end)
  const port = await begin(0)
  if (waitFor > 0) end()
  const clock = new ManualClock()
  /** @type {number[]} */
  const pauses = []
  const { logger, lines } = recordingLogger()
  const told = () =>
    lines.map(({ msg, detail, patienceMs, awayMs }) => ({ msg, detail, patienceMs, awayMs }))
  const pause = async (/** @type {number} */ ms) => {
    pauses.push(ms)
    clock.advance(ms)
    if (pauses.length === waitFor) await begin(port)
  }
  const patience = new Patience({ logger, isFirstToo, clock, pause })
  const target = s3At(`http://127.0.0.1:${port}`, { maxAttempts: 1, patience })
  t.after(() => target.close())
  return { target, asked, pauses, told, port }
}

test('object storage that is started anew is waited for, and told of once', async (t) => {
  const { target, pauses, told, port } = await placeThat(t, [{ text: 'whole' }], { waitFor: 7 })
  assert.deepEqual(await target.get('keys/a'), Buffer.from('whole'))
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  assert.deepEqual(told(), [
    {
      msg: 'the place of the backups does not answer, and is asked again',
      detail: `Error: connect ECONNREFUSED 127.0.0.1:${port}`,
      patienceMs: 600_000,
      awayMs: undefined
    },
    {
      msg: 'the place of the backups answers again',
      detail: undefined,
      patienceMs: undefined,
      awayMs: 91_000
    }
  ])
})

test('object storage that stays away is given up after ten minutes in all, not once more for each object', async (t) => {
  const { target, pauses, told } = await placeThat(t, [AWAY])
  const unreachable = { code: 'BACKUP_UNREACHABLE', detail: /: SlowDown: later$/ }
  await assert.rejects(target.get('keys/a'), unreachable)
  assert.equal(
    pauses.reduce((sum, ms) => sum + ms),
    600_000
  )
  const { length } = pauses
  await assert.rejects(target.put('keys/a', Buffer.alloc(1)), unreachable)
  assert.equal(pauses.length, length)
  assert.equal(told().length, 1)
})

test('what object storage says of itself is believed at once, and how long it wants to be left alone', async (t) => {
  const path = join(await scratchFolder(t), 'pack')
  await writeFile(path, 'whole')
  const error = (/** @type {string} */ code) => `<Error><Code>${code}</Code></Error>`
  /** @type {[(Answer | 'cut')[], number[]][]} */
  const cases = [
    [[{ status: 404, text: error('NoSuchBucket') }], []],
    [[{ status: 403, text: error('InvalidAccessKeyId') }], []],
    [
      [
        { ...AWAY, headers: { 'retry-after': '45' } },
        { status: 403, text: '' }
      ],
      [45_000]
    ],
    [
      [{ status: 429 }, 'cut', { status: 500 }, { status: 403 }],
      [1000, 2000, 4000]
    ]
  ]
  for (const [answers, expected] of cases) {
    const { target, pauses } = await placeThat(t, answers)
    await assert.rejects(target.putFile('packs/a', path), { code: 'BACKUP_UNREACHABLE' })
    assert.deepEqual(pauses, expected)
  }
})

test('a list goes on where the server went away, and lacks nothing', async (t) => {
  const { target, asked, pauses } = await placeThat(t, [
    page('packs/a', 'second'),
    AWAY,
    'cut',
    page('packs/b', '')
  ])
  assert.deepEqual(
    (await listed(target.list('packs/'))).map(({ name }) => name),
    ['packs/a', 'packs/b']
  )
  assert.deepEqual(
    asked.map((url) => /continuation-token=(\w+)/.exec(url)?.[1]),
    [undefined, 'second', 'second', 'second']
  )
  assert.deepEqual(pauses, [1000, 2000])
})

test('somebody who has misspelt the name of a server is told at once, and waits for one that was there', async (t) => {
  const { target, pauses } = await placeThat(
    t,
    [AWAY, { text: 'whole' }, AWAY, { text: 'whole' }],
    {
      isFirstToo: false
    }
  )
  await assert.rejects(target.get('keys/a'), { code: 'BACKUP_UNREACHABLE' })
  await target.get('keys/a')
  assert.deepEqual(pauses, [])
  await target.get('keys/a')
  assert.deepEqual(pauses, [1000])
})
