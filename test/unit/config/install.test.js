import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** @typedef {{ packages: Record<string, { hasInstallScript?: boolean }> }} Lockfile */

test('nothing is run when it is installed: that takes no Python, no compiler and no network but the registry', () => {
  const lockfile = /** @type {Lockfile} */ (
    JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8'))
  )
  const running = Object.entries(lockfile.packages).filter(([, { hasInstallScript }]) =>
    Boolean(hasInstallScript)
  )
  assert.deepEqual(running, [])
  // For the scripts of a package's own npm sees whether there is a binding.gyp, whatever the lockfile says.
  const ignores = execFileSync('npm', ['config', 'get', 'ignore-scripts', '--location=project'], {
    cwd: ROOT,
    encoding: 'utf8'
  })
  assert.equal(ignores.trim(), 'true')
})

test('SQLite’s addon comes with its package', () => {
  const folder = `${ROOT}node_modules/better-sqlite3-multiple-ciphers`
  assert.ok(existsSync(`${folder}/prebuilds/${process.platform}-${process.arch}.node`))
})
