/**
 * Which backup is meant, by its name, by a time, or by neither; and what the next one is called.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { chooseGeneration } from '../../../src/backup/choose.js'
import { inOrder } from '../../../src/backup/generation-order.js'
import { Repository } from '../../../src/backup/repository.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { scratchFolder } from '../../helpers/account-folder.js'

const DAY_MS = 24 * 60 * 60 * 1000
const NOW_MS = Date.UTC(2026, 10, 25, 12)
const NAMES = ['2026-11-21T03-00-00Z', '2026-11-22T03-00-00Z', '2026-11-22T03-00-00Z-2']

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const folder = await scratchFolder(t)
  const repository = new Repository(openFolderTarget(folder))
  const add = (/** @type {string} */ name) =>
    repository.writeGeneration(
      /** @type {import('../../../src/backup/repository.js').Generation} */ ({ name })
    )
  const choose = async (/** @type {{ name?: string, atMs?: number }} */ wanted = {}) =>
    (await chooseGeneration(repository, { nowMs: NOW_MS, ...wanted })).name
  return { folder, repository, add, choose }
}

test('a backup is chosen by its name, as the last that had begun by a time, or as the last', async (t) => {
  const { folder, add, choose } = await setUp(t)
  await assert.rejects(choose(), {
    code: 'BACKUP_MISSING',
    detail: `there is none yet in ${folder}`
  })
  for (const name of NAMES) await add(name)
  for (const name of NAMES) assert.equal(await choose({ name }), name)
  for (const name of ['2026-11-23T03-00-00Z', `../generations/${NAMES[0]}`, ''])
    await assert.rejects(choose({ name }), { code: 'BACKUP_MISSING', detail: name })
  const firstMs = Date.UTC(2026, 10, 21, 3)
  for (const [atMs, chosen] of /** @type {const} */ ([
    [firstMs, NAMES[0]],
    [firstMs + DAY_MS - 1, NAMES[0]],
    [firstMs + DAY_MS, NAMES[2]],
    [NOW_MS, NAMES[2]]
  ]))
    assert.equal(await choose({ atMs }), chosen)
  await assert.rejects(choose({ atMs: firstMs - 1 }), {
    code: 'BACKUP_MISSING',
    detail: `the oldest is ${NAMES[0]}`
  })
})

test('the last backup is none that cannot have been made yet, unless there is no other', async (t) => {
  const { add, choose } = await setUp(t)
  await add('2036-02-07T06-28-00Z')
  assert.equal(await choose(), '2036-02-07T06-28-00Z')
  // Of a clock that is a day ahead of this one, but no more.
  const ahead = '2026-11-26T12-00-00Z'
  for (const name of [ahead, ...NAMES, '2026-11-26T12-00-01Z']) await add(name)
  assert.equal(await choose(), ahead)
  const all = [ahead, '2026-11-26T12-00-01Z', ...NAMES.toReversed()]
  assert.deepEqual(inOrder(all, NOW_MS), ['2026-11-26T12-00-01Z', ...NAMES, ahead])
})

test('what lies beside the backups is none, and each has a name of its own', async (t) => {
  const { folder, repository, add } = await setUp(t)
  for (const name of NAMES.toReversed()) await add(name)
  for (const name of ['2026-11-23.json', 'x2026-11-23T03-00-00Z.json', '2026-11-23T03-00-00Zx'])
    await writeFile(join(folder, 'generations', name), '{}')
  assert.deepEqual(await repository.listGenerations(), NAMES)
  const at = (/** @type {number} */ ms) => repository.newName(Date.UTC(2026, 10, 22, 3) + ms)
  assert.deepEqual(
    [await at(-1), await at(0), await at(999), await at(1000)],
    [
      '2026-11-22T02-59-59Z',
      '2026-11-22T03-00-00Z-3',
      '2026-11-22T03-00-00Z-3',
      '2026-11-22T03-00-01Z'
    ]
  )
})
