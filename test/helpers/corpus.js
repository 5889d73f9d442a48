/**
 * The mail corpus that lies beside the project (`../shared/corpus`): real messages, everyday and odd ones.
 * A checkout without it still passes: ask `corpusIsMissing` and skip.
 */
import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

const CORPUS = new URL('../../../shared/corpus/', import.meta.url)

/**
 * For the `skip` option of a test: false when the corpus is there, else why the test is left out.
 * @type {false | string}
 */
export const corpusIsMissing = existsSync(new URL('everyday/manifest.tsv', CORPUS))
  ? false
  : 'the mail corpus (../shared/corpus) is not on this machine'

/**
 * @typedef {object} CorpusMessage
 * @property {string} name - `<pack>/<file>`, unique in its part of the corpus
 * @property {Buffer} bytes
 */

/**
 * Reads a manifest: a head line with the columns' names, then one row a message, tab-separated.
 * @param {string} path - below the corpus folder
 * @returns {Record<string, string>[]}
 */
export function readManifest(path) {
  const [head = '', ...rows] = readFileSync(new URL(path, CORPUS), 'utf8').trimEnd().split('\n')
  const columns = head.split('\t')
  return rows.map((row) => {
    const cells = row.split('\t')
    return Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? '']))
  })
}

/**
 * The 4,300 everyday messages as a mail server receives them: without the mbox line, each line ended by CRLF.
 * One archive is in memory at a time.
 * @param {{ every?: number }} [options] - take each n-th message only (1 = all of them)
 * @returns {Generator<CorpusMessage>}
 */
export function* everydayMessages({ every = 1 } = {}) {
  const rows = new Map(readManifest('everyday/manifest.tsv').map((row) => [row.file, row]))
  const packs = new Set([...rows.keys()].map((file) => file?.split('/')[0]))
  let index = 0
  for (const pack of packs) {
    for (const { name, bytes } of readTarGz(new URL(`everyday/${pack}.tar.gz`, CORPUS))) {
      const row = rows.get(name)
      if (!row || index++ % every !== 0) continue
      yield { name, bytes: withCrlf(bytes.subarray(Number(row.from_line_bytes))) }
    }
  }
}

/**
 * The 798 torture messages exactly as found: mixed line ends, NUL bytes, mbox lines and all.
 * @param {{ every?: number }} [options] - take each n-th message only (1 = all of them)
 * @returns {Generator<CorpusMessage>}
 */
export function* tortureMessages({ every = 1 } = {}) {
  for (const [index, row] of readManifest('torture/manifest.tsv').entries()) {
    const name = row.file ?? ''
    if (index % every === 0) yield { name, bytes: readFileSync(new URL(`torture/${name}`, CORPUS)) }
  }
}

/**
 * Turns each bare LF into CRLF and leaves the rest alone.
 * @param {Buffer} bytes
 * @returns {Buffer}
 */
export function withCrlf(bytes) {
  let bare = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1))
    if (at === 0 || bytes[at - 1] !== 13) bare++
  if (bare === 0) return bytes
  const out = Buffer.allocUnsafe(bytes.length + bare)
  let from = 0
  let to = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
    if (at > 0 && bytes[at - 1] === 13) continue
    to += bytes.copy(out, to, from, at)
    out[to++] = 13
    from = at
  }
  bytes.copy(out, to, from)
  return out
}

/**
 * @param {URL} url - a gzip of plain POSIX ustar
 * @returns {Generator<CorpusMessage>} its regular files
 */
function* readTarGz(url) {
  const tar = gunzipSync(readFileSync(url))
  const textAt = (/** @type {number} */ at, /** @type {number} */ length) =>
    tar.toString('latin1', at, at + length).replace(/\0.*$/s, '')
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const size = parseInt(textAt(at + 124, 12), 8)
    const type = textAt(at + 156, 1)
    if (type === '0' || type === '')
      yield { name: textAt(at, 100), bytes: tar.subarray(at + 512, at + 512 + size) }
    at += 512 + Math.ceil(size / 512) * 512
  }
}
