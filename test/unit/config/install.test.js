import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ path) => readFileSync(new URL(path, ROOT), 'utf8')

/** @typedef {{ packages: Record<string, { hasInstallScript?: boolean }> }} Lockfile */

test('nothing is run when it is installed: that takes no Python, no compiler and no network but the registry', () => {
  const { packages } = /** @type {Lockfile} */ (JSON.parse(read('package-lock.json')))
  const running = Object.keys(packages).filter((name) => packages[name]?.hasInstallScript)
  assert.deepEqual(running, [])
  // npm would run node-gyp for packages that have a binding.gyp, which the lockfile does not tell.
  assert.match(read('.npmrc'), /^ignore-scripts=true$/m)
})

test('SQLite’s addon comes with its package', () => {
  const require = createRequire(import.meta.url)
  const main = require.resolve('better-sqlite3-multiple-ciphers')
  const { getPrebuildPath } = require(join(dirname(main), 'binding.js'))
  assert.match(getPrebuildPath(), /prebuilds/)
})
