import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { RateLimit } from '../../../src/backup/rate-limit.js'
import { Staging, sha256 } from '../../../src/backup/staging.js'
import { UNIT_BYTES } from '../../../src/backup/snapshot-format.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/** More than is read at a time, and no whole number of units. */
const SIZE = 20.5 * UNIT_BYTES

/**
 * @param {import('node:test').TestContext} t
 * @param {(hash: Buffer, length: number) => boolean} [isKnown]
 * @returns {Promise<{ staging: Staging, scratch: string, files: import('../../../src/backup/staging.js').StagedFile[] }>}
 *   with one file of twenty units and a half
 */
async function stageOne(t, isKnown = () => false) {
  const folder = await scratchFolder(t)
  const source = join(folder, 'source')
  const scratch = join(folder, 'units')
  await writeFile(source, bytesOf(SIZE))
  const staging = await Staging.open(scratch, new RateLimit(0))
  t.after(() => staging.close())
  const known = /** @type {any} */ ({ find: isKnown })
  let told = 0
  const onRead = (/** @type {number} */ bytes) => (told += bytes)
  const files = [await staging.stage({ source, path: 'x', size: SIZE, known, onRead })]
  assert.equal(told, SIZE)
  return { staging, scratch, files }
}

/**
 * @param {number} count
 * @returns {Buffer} of which no two units are alike
 */
const bytesOf = (count) =>
  Buffer.from(Uint8Array.from({ length: count }, (_, at) => (at * 7 + (at >> 8)) & 0xff))

/**
 * @param {Buffer} bytes
 * @param {number} number
 */
const unitOf = (bytes, number) => bytes.subarray(number * UNIT_BYTES, (number + 1) * UNIT_BYTES)

test('what was staged comes back unit by unit, as it was read; what is stored already, by its hash alone', async (t) => {
  const wanted = bytesOf(SIZE)
  const known = [0, 7, 20].map((number) => unitOf(wanted, number))
  const isKnown = (/** @type {Buffer} */ hash, /** @type {number} */ length) =>
    known.some((unit) => unit.length === length && sha256(unit).equals(hash))
  const { staging, files } = await stageOne(t, isKnown)
  let count = 0
  for await (const { file, number, hash, length, bytes } of staging.units(files)) {
    const unit = unitOf(wanted, count)
    assert.deepEqual([file.path, number, length], ['x', count++, unit.length])
    assert.ok(hash.equals(sha256(unit)))
    if (known.some((each) => each.equals(unit))) assert.equal(bytes, null)
    else assert.ok(bytes?.equals(unit), `unit ${number}`)
  }
  assert.equal(count, 21)
})

test('a scratch file takes no place for what is not wanted any more, and none is taken for it', async (t) => {
  const { staging, scratch } = await stageOne(t)
  await staging.rewind(2 * UNIT_BYTES)
  assert.deepEqual([staging.position, (await stat(scratch)).size], Array(2).fill(2 * UNIT_BYTES))
  await staging.rewind()
  assert.deepEqual([staging.position, (await stat(scratch)).size], [0, 0])
  await assert.rejects(Staging.open(scratch, new RateLimit(0)), { code: 'EEXIST' })
  await staging.close()
  assert.equal(existsSync(scratch), false)
})

test('a scratch file that somebody has cut gives no bytes of another unit', async (t) => {
  const { staging, scratch, files } = await stageOne(t)
  await truncate(scratch, 1.5 * UNIT_BYTES)
  const hashes = []
  await assert.rejects(async () => {
    for await (const { hash } of staging.units(files)) hashes.push(hash)
  }, /units became shorter$/)
  assert.equal(hashes.length, 1)
})
