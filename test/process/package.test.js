import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { scratchFolder } from '../helpers/process.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

test('the package holds what serving needs, and neither tests nor mail', (t) => {
  const folder = scratchFolder(t, 'pack')
  const packed = spawnSync('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8'
  })
  assert.equal(packed.status, 0, packed.stderr)
  const [{ files }] = JSON.parse(packed.stdout)
  /** @type {string[]} */
  const paths = files.map((/** @type {{ path: string }} */ { path }) => path)
  for (const needed of [
    'src/main.js',
    'config/default.js',
    'LICENSE',
    'SECURITY.md',
    'CHANGELOG.md',
    'README.md',
    'docs/security.md'
  ]) {
    assert.ok(paths.includes(needed), needed)
  }
  assert.ok(paths.some((path) => /^migrations\/account\/0001-.*\.sql$/.test(path)))
  assert.deepEqual(
    paths.filter((path) => /^(test|benchmarks|data|\.ci)\/|\.eml$/.test(path)),
    []
  )
})

test('every dependency is listed with a reason in docs/dependencies.md', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    readFileSync(`${ROOT}package.json`, 'utf8')
  )
  const text = readFileSync(`${ROOT}docs/dependencies.md`, 'utf8')
  const names = Object.keys({
    ...dependencies,
    ...optionalDependencies,
    ...devDependencies
  }).filter((name) => !name.startsWith('@types/'))
  for (const name of names) assert.ok(text.includes(`\`${name}\``), name)
})
