import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { zstdDecompressSync } from 'node:zlib'
import { MailError } from '../../../src/errors.js'
import { decodeChunk } from '../../../src/store/chunk-codec.js'
import { mailDictionary, readMailDictionary } from '../../../src/store/mail-dictionary.js'

const FOLDER = new URL('../../../src/store/dictionary/mail-1/', import.meta.url)

/** As it was stored when the dictionary was new. */
const STORED = Buffer.from(
  'KLUv/SEBfz0BAEhhQC5vcmcuDQoJ/P2CI1vAI+SMm4qnZz8W2iVS1/xI/78iKC6KSw==',
  'base64'
)
const MAIL =
  'From: a@example.org\r\nSubject: Re: words\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset="UTF-8"\r\n\r\nThank you very much.\r\n'

test('what was stored by the dictionary when it was new is read', () => {
  assert.equal(decodeChunk(4, Buffer.from(STORED), MAIL.length).toString(), MAIL)
  assert.equal(zstdDecompressSync(STORED, { dictionary: mailDictionary() }).toString(), MAIL)
})

test('it is as long as docs/formats.md says, and its lines end as those of mail do', () => {
  assert.equal(mailDictionary().length, 60_835)
  const text = mailDictionary().toString('latin1')
  assert.doesNotMatch(text.slice(text.indexOf('Sehr geehrte')), /[^\r]\n/)
})

for (const name of ['1-languages.txt', '6-header.txt']) {
  test(`a change of one byte in ${name}, or its loss, is told before anything is read or stored`, (t) => {
    const copy = mkdtempSync(join(tmpdir(), 'letterlock-dictionary-'))
    t.after(() => rmSync(copy, { recursive: true, force: true }))
    cpSync(FOLDER, copy, { recursive: true })
    const folder = pathToFileURL(`${copy}/`)
    assert.deepEqual(readMailDictionary(folder), mailDictionary())
    const path = join(copy, name)
    writeFileSync(path, readFileSync(path, 'latin1').replace('e', 'f'), 'latin1')
    const told = (/** @type {unknown} */ error) =>
      error instanceof Error && !(error instanceof MailError) && /SHA-256/.test(error.message)
    assert.throws(() => readMailDictionary(folder), told)
    rmSync(path)
    assert.throws(() => readMailDictionary(folder), { code: 'ENOENT' })
  })
}
