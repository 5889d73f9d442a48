import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadPepper } from '../../../src/accounts/pepper.js'
import { isMailError } from '../../../src/errors.js'

/** @param {import('node:test').TestContext} t */
async function pepperPath(t) {
  const folder = await mkdtemp(join(tmpdir(), 'letterlock-pepper-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return { folder, path: join(folder, 'below', 'pepper') }
}

test('the first start makes 32 random bytes, 0600, and nothing else', async (t) => {
  const { path } = await pepperPath(t)
  const pepper = await loadPepper({ path, neededIds: [] })
  assert.deepEqual(await readFile(path), pepper.key.bytes)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.equal(pepper.key.length, 32)
  assert.deepEqual(await readdir(join(path, '..')), ['pepper'])
})

test('a later start finds it, by the same id', async (t) => {
  const { path } = await pepperPath(t)
  const first = await loadPepper({ path, neededIds: [] })
  const second = await loadPepper({ path, neededIds: [first.id] })
  assert.equal(second.id, first.id)
  assert.deepEqual(second.key.bytes, first.key.bytes)
  assert.match(first.id, /^[0-9a-f]{16}$/)
})

test('processes that start side by side agree on one', async (t) => {
  const { path } = await pepperPath(t)
  const all = await Promise.all(
    Array.from({ length: 8 }, () => loadPepper({ path, neededIds: [] }))
  )
  assert.equal(new Set(all.map(({ id }) => id)).size, 1)
})

test('a missing pepper is never made anew while credentials need it, and whoever reads that hears what to do', async (t) => {
  const { path } = await pepperPath(t)
  await assert.rejects(loadPepper({ path, neededIds: ['0011223344556677'] }), {
    code: 'PEPPER_MISSING',
    detail:
      /^\S+pepper is not there: bring back .*backups have it, too: docs\/backup\.md.*docs\/operations\.md, “The pepper is lost”$/
  })
  await assert.rejects(stat(path), { code: 'ENOENT' })
})

test('another pepper than the one that credentials need is refused', async (t) => {
  const { path } = await pepperPath(t)
  await loadPepper({ path, neededIds: [] })
  await assert.rejects(loadPepper({ path, neededIds: ['0011223344556677'] }), {
    code: 'PEPPER_MISSING',
    detail: /^\S+pepper holds another pepper: bring back /
  })
})

test('a pepper of a wrong size, or one that others can read, is refused', async (t) => {
  const { path, folder } = await pepperPath(t)
  await loadPepper({ path, neededIds: [] })
  await chmod(path, 0o640)
  await assert.rejects(loadPepper({ path, neededIds: [] }), (error) =>
    isMailError(error, 'CONFIG_INVALID')
  )
  const short = join(folder, 'short')
  await writeFile(short, Buffer.alloc(31), { mode: 0o600 })
  await assert.rejects(loadPepper({ path: short, neededIds: [] }), (error) =>
    isMailError(error, 'PEPPER_MISSING')
  )
})
