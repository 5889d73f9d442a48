import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copy, messageOf } from '../../../helpers/copy-account.js'
import { startImapSource } from '../../../helpers/imap-source.js'
import { temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../helpers/imap-source.js').Exchange} Exchange */

/** @type {{ what: string, happens: (exchange: Exchange, run: AbortController) => unknown, isFailure: boolean }[]} */
const ENDS = [
  { what: 'whose source goes away', happens: ({ socket }) => socket.destroy(), isFailure: true },
  { what: 'that is called off', happens: (_, run) => run.abort(), isFailure: false }
]

for (const { what, happens, isFailure } of ENDS)
  test(`a run ${what} begins no further folder`, async (t) => {
    const store = await temporaryStore(t)
    const names = ['INBOX', 'Next', 'Then']
    const folders = Object.fromEntries(
      names.map((name) => [name, { uidValidity: 7, messages: [messageOf(1)] }])
    )
    const run = new AbortController()
    /** @type {string[]} */
    const opened = []
    const { port } = await startImapSource(t, {
      folders,
      answer: (exchange) => {
        const { command, socket } = exchange
        if (!command.startsWith('EXAMINE')) return false
        opened.push(command.slice('EXAMINE '.length).replaceAll('"', ''))
        happens(exchange, run)
        return socket.destroyed
      }
    })
    const ended = copy(store, port, 1, run.signal)
    if (isFailure) await assert.rejects(ended, { code: 'NoConnection' })
    else assert.deepEqual((await ended).failures, [])
    assert.deepEqual([...new Set(opened)], ['INBOX'])
  })

test('a folder that cannot be here fails, and ends no run', async (t) => {
  const store = await temporaryStore(t)
  const names = ['A'.repeat(1025), 'INBOX', 'Next']
  const folders = Object.fromEntries(
    names.map((name, at) => [name, { uidValidity: 7 + at, messages: [messageOf(1)] }])
  )
  const { port } = await startImapSource(t, { folders })
  const { copied, failed, failures, foldersWithUids } = await copy(store, port)
  assert.deepEqual([copied, failed, foldersWithUids], [2, 1, 2])
  assert.deepEqual(failures, ['null: A limit of this server is reached'])
})
