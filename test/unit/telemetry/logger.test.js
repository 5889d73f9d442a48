import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { MailError } from '../../../src/errors.js'
import { REDACTED_NAMES, createLogger } from '../../../src/telemetry/logger.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

/** A process that logs so many lines of a kind when it is told to. */
const LOGGING = `
  import { createLogger } from '${new URL('../../../src/telemetry/logger.js', import.meta.url)}'
  const logger = createLogger({ level: 'info' })
  process.on('message', ({ count, name }) => {
    for (let number = 0; number < count; number++) logger.info({ number }, name)
    process.send('logged')
  })`

/** @returns {{ logger: import('../../../src/telemetry/logger.js').Logger, text: () => string }} */
function capture() {
  let written = ''
  const logger = createLogger({
    level: 'info',
    stream: {
      write: (line) => {
        written += line
      }
    }
  })
  return { logger, text: () => written }
}

for (const name of REDACTED_NAMES) {
  test(`"${name}" is redacted at the top, one level down and two`, () => {
    const { logger, text } = capture()
    logger.info(
      { [name]: 'hush-hush', a: { [name]: 'hush-hush', b: { [name]: 'hush-hush' } } },
      'x'
    )
    assert.ok(!text().includes('hush-hush'), text())
    assert.equal(text().match(/\[redacted\]/g)?.length, 3)
  })
}

test('what is not on the list is logged', () => {
  const { logger, text } = capture()
  logger.info({ accountId: '0123', command: 'FETCH', ms: 4 }, 'command')
  const line = JSON.parse(text())
  assert.deepEqual(
    {
      level: line.level,
      accountId: line.accountId,
      command: line.command,
      ms: line.ms,
      msg: line.msg
    },
    { level: 'info', accountId: '0123', command: 'FETCH', ms: 4, msg: 'command' }
  )
  assert.match(line.time, /^\d{4}-\d\d-\d\dT/)
})

test('an error is logged by code, detail and cause, without what libraries hang on it', () => {
  const { logger, text } = capture()
  const cause = Object.assign(new Error('boom'), { sql: 'SELECT hush-hush', code: 'SQLITE_FULL' })
  logger.error({ err: new MailError('DISK_FULL', { detail: 'mail.db', cause }) }, 'failed')
  const { err } = JSON.parse(text())
  assert.equal(err.code, 'DISK_FULL')
  assert.equal(err.detail, 'mail.db')
  assert.equal(err.cause.code, 'SQLITE_FULL')
  assert.match(err.stack, /logger\.test\.js/)
  assert.ok(!text().includes('hush-hush'))
})

test('of what was thrown only texts that we have written are logged', () => {
  const { logger, text } = capture()
  const odd = Object.assign(new Error('boom'), { code: ['hush-hush'], detail: { a: 'hush-hush' } })
  for (const err of ['hush-hush', { password: 'hush-hush' }, null, odd])
    logger.error({ err }, 'failed')
  const lines = text().trim().split('\n')
  const types = lines.map((line) => JSON.parse(line).err.type)
  assert.deepEqual(types, ['string', 'object', 'object', 'Error'])
  assert.ok(!text().includes('hush-hush'), text())
})

test(
  'a log whose disk was full for long goes on when there is room again',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 4 * 1024 * 1024)
    const path = join(disk.root, 'log')
    const log = openSync(path, 'a')
    const child = spawn(process.execPath, ['--input-type=module', '-e', LOGGING], {
      stdio: ['ignore', 'ignore', log, 'ipc']
    })
    t.after(() => child.kill())
    closeSync(log)
    const write = async (/** @type {{ count: number, name: string }} */ lines) => {
      child.send(lines)
      await once(child, 'message')
    }
    disk.fill(0)
    // More than waits for room.
    await write({ count: 20_000, name: 'full' })
    disk.clear()
    await write({ count: 2, name: 'room' })
    const lines = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const ofName = (/** @type {string} */ name) => lines.filter(({ msg }) => msg === name)
    assert.deepEqual(
      ofName('room').map(({ number }) => number),
      [0, 1]
    )
    // Those that waited are in front of them, without a gap.
    const waited = ofName('full').map(({ number }) => number)
    assert.ok(waited.length > 1000)
    assert.equal(waited.at(-1), waited.length - 1)
  }
)
