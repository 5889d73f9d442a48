/**
 * What documents refer to: other documents, headings in them, files of the code.
 */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const exists = (/** @type {string} */ path) => existsSync(new URL(path, ROOT))

/** Places in the data folder of a running server. */
const IN_DATA = ['run/']

const DOCUMENTS = globSync(['*.md', '{docs,benchmarks}/**/*.md'], { cwd: ROOT })

/**
 * @param {string} path
 * @returns {string} the document without its blocks of code
 */
const read = (path) => readFileSync(new URL(path, ROOT), 'utf8').replace(/^```[^]*?^```$/gm, '')

/**
 * @param {string} heading
 * @returns {string} its anchor, as GitHub makes it
 */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

/**
 * @param {string} path - of a document
 * @returns {string[]}
 */
const anchorsOf = (path) =>
  [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))

for (const document of DOCUMENTS) {
  test(`every link of ${document} leads to a file that is there, and to a heading that it has`, () => {
    for (const [, link = ''] of read(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? document : posix.join(posix.dirname(document), path)
      assert.ok(exists(target), link)
      if (anchor !== undefined) assert.ok(anchorsOf(target).includes(anchor), link)
    }
  })
}

test('every file and folder that docs/architecture.md names is there', () => {
  const named = [...read('docs/architecture.md').matchAll(/`((?:[a-z-]+\/)*[a-z-]+(?:\.js|\/))`/g)]
  const paths = named.map(([, path = '']) => path)
  assert.ok(paths.length > 80)
  // Within a section a file may be named without its folder.
  const isThere = (/** @type {string} */ path) =>
    IN_DATA.includes(path) ||
    ['', 'src/'].some((folder) => exists(folder + path)) ||
    globSync(`src/**/${path}`, { cwd: ROOT }).length > 0
  assert.deepEqual(
    paths.filter((path) => !isThere(path)),
    []
  )
})
