import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { TABLES, withTable } from '../../../scripts/reference-docs.js'

for (const { file, table } of TABLES) {
  test(`docs/${file.pathname.split('/').at(-1)} has the table as the code has it (npm run docs writes it)`, () => {
    const text = readFileSync(file, 'utf8')
    assert.equal(text, withTable(text, table()))
  })
}
