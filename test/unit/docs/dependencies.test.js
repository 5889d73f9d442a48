/**
 * docs/dependencies.md against package.json, and both against what is imported.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ path) => readFileSync(new URL(path, ROOT), 'utf8')

const manifest = JSON.parse(read('package.json'))
const atRunTime = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
const forDevelopment = Object.keys(manifest.devDependencies)

/** @returns {string[][]} names of the packages of each of the two tables, sorted */
function documented() {
  const [, runTime = '', development = ''] = read('docs/dependencies.md').split(/^## .*$/m)
  return [runTime, development].map((table) =>
    [...table.matchAll(/^\| (`[^|]*) \|/gm)]
      .flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
      .sort()
  )
}

test('the document has every package, where it belongs', () => {
  const typed = forDevelopment.map((name) => (name.startsWith('@types/') ? '@types/*' : name))
  assert.deepEqual(documented(), [[...atRunTime].sort(), [...new Set(typed)].sort()])
})

test('what is installed to run the program is what the program needs', () => {
  const files = globSync(['{src,config,scripts}/**/*.js', '*.config.js'], {
    cwd: new URL('.', ROOT)
  })
  const code = files.map(read).join('\n')
  const isUsed = (/** @type {string} */ name) => new RegExp(`'${name}['/]`).test(code)
  const runtimes = Object.keys(manifest.optionalDependencies)
  assert.deepEqual(
    atRunTime.filter((name) => !runtimes.includes(name) && !isUsed(name)),
    []
  )
})
