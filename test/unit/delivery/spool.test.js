import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Sealer, generateSealIdentity, identityFromSecret } from '../../../src/crypto/age.js'
import { SpoolMeter } from '../../../src/delivery/spool-meter.js'
import {
  cleanSpoolLeftovers,
  listAside,
  listSpool,
  readSpoolFile,
  removeSpoolFiles,
  setAsideSpoolFile
} from '../../../src/delivery/spool.js'
import { SpoolWriter } from '../../../src/delivery/spool-writer.js'
import { systemClock } from '../../../src/support/clock.js'
import { filesBelow, openSpool } from '../../helpers/delivery.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { scratchFolder } from '../../helpers/process.js'
import { writeSpoolFile } from '../../helpers/spool.js'

const { secret, publicKey } = generateSealIdentity()
const identity = identityFromSecret(secret)
const envelope = { recipient: 'ann@example.org', sender: 'bob@example.net', receivedAtMs: 7 }

/**
 * @param {string} spoolFolder
 * @param {string | Buffer} message
 */
const put = (spoolFolder, message) =>
  writeSpoolFile({ spoolFolder, publicKey, envelope, message: [Buffer.from(message)] })

test('a spool file gives back envelope and message, and shows neither', async (t) => {
  const folder = scratchFolder(t, 'spool')
  const spoolFolder = join(folder, 'spool')
  const message = 'Subject: marmalade\r\n\r\nmarmalade\r\n'
  const { name, bytes } = await put(spoolFolder, message)
  assert.match(name, /^[0-9a-f]{32}\.sealed$/)
  assert.deepEqual(await openSpool(spoolFolder, identity), [
    { envelope, message: Buffer.from(message) }
  ])
  const [path = ''] = filesBelow(folder)
  assert.equal(path, join(spoolFolder, name))
  assert.equal(statSync(path).size, bytes)
  assert.equal((await put(spoolFolder, 'x'.repeat(900))).bytes, bytes)
})

test('files and folders of a spool are for their owner alone', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const { name } = await put(spoolFolder, 'x')
  assert.equal(statSync(spoolFolder).mode & 0o777, 0o700)
  assert.equal(statSync(join(spoolFolder, 'tmp')).mode & 0o777, 0o700)
  assert.equal(statSync(join(spoolFolder, name)).mode & 0o777, 0o600)
})

test('mail for an account whose folder is gone does not bring the folder back', async (t) => {
  const folder = join(scratchFolder(t, 'spool'), 'gone')
  await assert.rejects(put(join(folder, 'spool'), 'x'), { code: 'NOT_DURABLE', temporary: true })
  assert.throws(() => statSync(folder), { code: 'ENOENT' })
})

test('where no file can be made, nothing is kept of the key that was to seal it', async (t) => {
  const folder = join(scratchFolder(t, 'spool'), 'gone')
  const { mock } = t.mock.method(Sealer.prototype, 'destroy')
  await assert.rejects(put(join(folder, 'spool'), 'x'), { code: 'NOT_DURABLE' })
  assert.equal(mock.callCount(), 1)
})

test('a message that breaks off leaves nothing', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  async function* broken() {
    yield Buffer.alloc(200_000)
    throw new Error('broken off')
  }
  await assert.rejects(
    writeSpoolFile({ spoolFolder, publicKey, envelope, message: broken() }),
    /broken off/
  )
  assert.deepEqual(filesBelow(spoolFolder), [])
})

test('until finish, a file is in tmp/ alone; abort after any step removes it', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const writer = await SpoolWriter.open({ spoolFolder, publicKey, envelope })
  await writer.write(Buffer.alloc(100_000))
  assert.deepEqual(await listSpool(spoolFolder), [])
  assert.equal(readdirSync(join(spoolFolder, 'tmp')).length, 1)
  await writer.abort()
  await writer.abort()
  assert.deepEqual(filesBelow(spoolFolder), [])
})

test('a key that is none: SEAL_FAILED, and no file', async (t) => {
  const folder = scratchFolder(t, 'spool')
  const message = [Buffer.from('x')]
  await assert.rejects(
    writeSpoolFile({
      spoolFolder: join(folder, 'spool'),
      publicKey: Buffer.alloc(5),
      envelope,
      message
    }),
    { code: 'SEAL_FAILED', temporary: true }
  )
  assert.deepEqual(filesBelow(folder), [])
})

test('the oldest file comes first, and what is no spool file is not listed', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const names = []
  for (let i = 0; i < 5; i++) names.push((await put(spoolFolder, `${i}`)).name)
  names.forEach((name, i) => utimesSync(join(spoolFolder, name), 100, 200 - i))
  writeFileSync(join(spoolFolder, 'README'), 'x')
  assert.deepEqual(
    (await listSpool(spoolFolder)).map((file) => file.name),
    names.reverse()
  )
})

test('a file is read to its end, whatever size it is taken to have', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const { name, bytes } = await put(spoolFolder, 'x'.repeat(200_000))
  const whole = readFileSync(join(spoolFolder, name))
  assert.equal(whole.length, bytes)
  for (const taken of [0, 1, 64 * 1024, bytes - 1, bytes, bytes + 1, 10 * bytes]) {
    const pieces = []
    for await (const piece of readSpoolFile(spoolFolder, { name, bytes: taken })) pieces.push(piece)
    assert.ok(Buffer.concat(pieces).equals(whole), `${taken} bytes`)
  }
})

test('an account without a spool folder has an empty spool', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  assert.deepEqual(await listSpool(spoolFolder), [])
  assert.deepEqual(await listAside(spoolFolder), [])
  assert.equal(await cleanSpoolLeftovers({ spoolFolder, clock: systemClock }), 0)
  assert.deepEqual(await new SpoolMeter(systemClock).usage(spoolFolder), { bytes: 0, messages: 0 })
})

test('a file that is set aside is out of the spool and kept', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const { name } = await put(spoolFolder, 'x')
  await setAsideSpoolFile(spoolFolder, name)
  assert.deepEqual(await listSpool(spoolFolder), [])
  assert.deepEqual(await listAside(spoolFolder), [name])
})

test('a pipe that has the name of a sealed message is no mail', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const { name } = await put(spoolFolder, 'x')
  spawnSync('mkfifo', [join(spoolFolder, `${'0'.repeat(32)}.sealed`)])
  assert.deepEqual(
    (await listSpool(spoolFolder)).map((file) => file.name),
    [name]
  )
})

test(
  'a file that is set aside, and one that is put back, is in one of the folders after a power cut',
  { skip: spawnSync('strace', ['-V']).status !== 0 && 'strace is not installed' },
  async (t) => {
    const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
    const { name } = await put(spoolFolder, 'x')
    const module = new URL('../../../src/delivery/spool.js', import.meta.url).href
    const program = `import { retryAsideFile, setAsideSpoolFile } from ${JSON.stringify(module)}
      await setAsideSpoolFile(...${JSON.stringify([spoolFolder, name])})
      await retryAsideFile(...${JSON.stringify([spoolFolder, name, 0])})`
    const { stderr, status } = spawnSync(
      'strace',
      [
        ...['-f', '-y', '-qq', '-e', 'trace=rename,fsync', '-e', 'signal=none'],
        ...[process.execPath, '--input-type=module', '--eval', program]
      ],
      { encoding: 'utf8' }
    )
    assert.equal(status, 0, stderr)
    const calls = stderr.matchAll(/rename\("[^"]*\.sealed"|fsync\(\d+<([^>]*)>/g)
    const aside = join(spoolFolder, 'aside')
    // The folder that it has come into is synced first: it may be in both, never in neither.
    const expected = [undefined, aside, spoolFolder, undefined, spoolFolder, aside]
    assert.deepEqual([...calls].map(([, folder]) => folder).slice(-expected.length), expected)
  }
)

test('files that arrive within one tick of the kernel’s clock keep their order', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const names = []
  for (let i = 0; i < 30; i++) names.push((await put(spoolFolder, `${i}`)).name)
  assert.deepEqual(
    (await listSpool(spoolFolder)).map((file) => file.name),
    names
  )
})

test('once a clock that was ahead is right, mail has its time again, and keeps its order', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const nowMs = Date.UTC(2026, 0, 1)
  const times = []
  for (const aheadMs of [365 * 24 * 3_600_000, 0, 0, -500, 0]) {
    const receivedAtMs = nowMs + aheadMs
    const { name } = await writeSpoolFile({
      spoolFolder,
      publicKey,
      envelope: { ...envelope, receivedAtMs },
      message: [Buffer.from('x')]
    })
    times.push(statSync(join(spoolFolder, name)).mtimeMs)
  }
  const [, ...right] = times
  assert.deepEqual(
    right,
    [...right].sort((a, b) => a - b)
  )
  assert.ok(new Set(right).size === 4 && right.every((ms) => Math.abs(ms - nowMs) < 1), `${right}`)
})

test('removing files that are gone already is no error', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const { name } = await put(spoolFolder, 'x')
  await removeSpoolFiles(spoolFolder, [name, name])
  assert.deepEqual(filesBelow(spoolFolder), [])
})

test('leftovers go after an hour, not before, and strangers stay', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const folder = join(spoolFolder, 'tmp')
  mkdirSync(folder, { recursive: true })
  const name = (/** @type {string} */ digit) => join(folder, `${digit.repeat(32)}.sealed`)
  for (const path of [name('a'), name('b'), join(folder, 'note')]) writeFileSync(path, 'x')
  const nowMs = 1_700_000_000_000
  const seconds = (/** @type {number} */ ageMinutes) => nowMs / 1000 - ageMinutes * 60
  utimesSync(name('a'), seconds(61), seconds(61))
  utimesSync(name('b'), seconds(59), seconds(59))
  utimesSync(join(folder, 'note'), 1, 1)
  assert.equal(await cleanSpoolLeftovers({ spoolFolder, clock: { nowMs: () => nowMs } }), 1)
  assert.deepEqual(filesBelow(folder).sort(), [name('b'), join(folder, 'note')].sort())
})

test('the meter counts arrivals of its own, and sees those of others', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const meter = new SpoolMeter(systemClock)
  const { bytes, name } = await put(spoolFolder, 'x')
  assert.deepEqual(await meter.usage(spoolFolder), { bytes, messages: 1 })
  await put(spoolFolder, 'y')
  await meter.noteArrival(spoolFolder, bytes)
  assert.deepEqual(await meter.usage(spoolFolder), { bytes: 2 * bytes, messages: 2 })
  // The kernel's clock ticks every 1 to 10 ms, and the folder's time is of that.
  await sleep(20)
  await put(spoolFolder, 'z')
  assert.deepEqual(await meter.usage(spoolFolder), { bytes: 3 * bytes, messages: 3 })
  await sleep(20)
  await removeSpoolFiles(spoolFolder, [name])
  assert.deepEqual(await meter.usage(spoolFolder), { bytes: 2 * bytes, messages: 2 })
})

test('a change that the time of the folder does not show counts after ten seconds, or when the clock was set back', async (t) => {
  const spoolFolder = join(scratchFolder(t, 'spool'), 'spool')
  const clock = new ManualClock()
  const startMs = clock.nowMs()
  const meter = new SpoolMeter(clock)
  const putUnseen = async () => {
    await put(spoolFolder, 'x')
    utimesSync(spoolFolder, 100, 100)
  }
  await putUnseen()
  for (const [aheadMs = 0, messages] of [
    [0, 1],
    [9_999, 1],
    [10_000, 3],
    [0, 4]
  ]) {
    clock.ms = startMs + aheadMs
    assert.equal((await meter.usage(spoolFolder)).messages, messages, `${aheadMs}`)
    await putUnseen()
  }
})
