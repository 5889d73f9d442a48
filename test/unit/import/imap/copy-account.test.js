import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copy, inbox, messageOf } from '../../../helpers/copy-account.js'
import { startImapSource } from '../../../helpers/imap-source.js'
import { temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../helpers/imap-source.js').Exchange} Exchange */

/** What a message becomes whose INTERNALDATE is told. */
const DATE = { epochSeconds: Date.UTC(2024, 0, 1, 9) / 1000, zoneMinutes: 60 }

/** Larger than what is asked for at once. */
const LARGE = Buffer.alloc(2_500_000, 'line after line\r\n')

/** @type {[string, (exchange: Exchange) => unknown, RegExp | null][]} */
const UNLISTED = [
  ['refuses', ({ end }) => end('NO [UNAVAILABLE] busy'), /^null: Command failed$/],
  ['says nothing', ({ end }) => end(), /^null: the server has 3 messages and lists 0$/],
  [
    'gives a part',
    ({ say, end }) => {
      say('SEARCH 2')
      end()
    },
    /^null: the server has 3 messages and lists 1$/
  ],
  ['goes away', ({ socket }) => socket.destroy(), null]
]

for (const [what, answerSearch, failure] of UNLISTED) {
  test(`a source that ${what} when it is asked for its messages takes none away here`, async (t) => {
    const store = await temporaryStore(t)
    let isBad = false
    const folders = { INBOX: { uidValidity: 7, messages: [1, 2, 3].map(messageOf) } }
    const { port } = await startImapSource(t, {
      folders,
      answer: (exchange) => {
        if (!isBad || !exchange.command.startsWith('UID SEARCH')) return false
        answerSearch(exchange)
        return true
      }
    })
    assert.equal((await copy(store, port)).copied, 3)
    isBad = true
    if (failure === null) await assert.rejects(copy(store, port), { code: 'NoConnection' })
    else {
      const { failures, expunged, failed, foldersWithUids } = await copy(store, port)
      assert.equal(failures.length, 1)
      assert.match(failures[0] ?? '', failure)
      assert.deepEqual([expunged, failed > 0, foldersWithUids], [0, true, 0])
    }
    assert.equal((await inbox(store)).length, 3)
    isBad = false
    const { skipped, failed } = await copy(store, port)
    assert.deepEqual([skipped, failed], [3, 0])
  })
}

test('a folder that the source numbers anew brings in what is new there, and nothing twice', async (t) => {
  const store = await temporaryStore(t)
  const [one, two, three] = [messageOf(1), messageOf(2), messageOf(3)]
  const INBOX = { uidValidity: 7, messages: [one, two, { ...one, uid: 5 }] }
  const { port } = await startImapSource(t, { folders: { INBOX } })
  assert.equal((await copy(store, port)).copied, 3)
  INBOX.uidValidity = 8
  INBOX.messages = [three, { ...two, flags: '\\Seen' }, one, one, one].map((message, at) => ({
    ...message,
    uid: 10 + at
  }))
  const renumbered = await copy(store, port)
  assert.deepEqual([renumbered.copied, renumbered.skipped], [2, 3], 'the third and one more of one')
  assert.deepEqual([renumbered.failed, renumbered.expunged], [0, 0])
  INBOX.messages.push({ ...one, uid: 20 })
  const again = await copy(store, port)
  assert.deepEqual([again.copied, again.skipped, again.failed], [1, 5, 0])
  assert.equal((await inbox(store)).length, 6)
})

test('a message that is deleted there while messages are listed is no failure', async (t) => {
  const store = await temporaryStore(t)
  const messages = [1, 2, 3].map(messageOf)
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages } },
    answer: ({ command }) => {
      if (command.startsWith('UID SEARCH') && messages.length === 3) messages.pop()
    }
  })
  const { copied, failures } = await copy(store, port)
  assert.deepEqual([copied, failures], [2, []])
})

for (const [count, goneCount, isKept] of /** @type {const} */ ([
  [50, 50, false],
  [101, 51, true],
  [102, 51, false]
]))
  test(`of ${count} messages here, ${goneCount} that are gone at the source ${isKept ? 'stay' : 'go'}`, async (t) => {
    const store = await temporaryStore(t)
    const messages = Array.from({ length: count }, (_, at) => messageOf(at + 1))
    const { port } = await startImapSource(t, { folders: { INBOX: { uidValidity: 7, messages } } })
    assert.equal((await copy(store, port)).copied, count)
    messages.splice(0, goneCount)
    const { expunged, kept } = await copy(store, port)
    assert.deepEqual([expunged, kept], isKept ? [0, goneCount] : [goneCount, 0])
  })

test('a connection that is lost while messages are listed is made again', async (t) => {
  const store = await temporaryStore(t)
  let lost = 0
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [1, 2, 3].map(messageOf) } },
    answer: ({ command, socket }) => {
      if (!command.startsWith('UID SEARCH') || lost++ > 0) return false
      socket.destroy()
      return true
    }
  })
  const { copied, failed } = await copy(store, port)
  assert.deepEqual([copied, failed], [3, 0])
})

for (const command of ['UID SEARCH', 'UID FETCH 1:3 (UID FLAGS INTERNALDATE', 'EXAMINE']) {
  test(`a source that throttles ${command.slice(0, 10)} is asked again`, async (t) => {
    const store = await temporaryStore(t)
    let throttled = 0
    const { port } = await startImapSource(t, {
      folders: { INBOX: { uidValidity: 7, messages: [1, 2, 3].map(messageOf) } },
      answer: (exchange) => {
        if (!exchange.command.startsWith(command) || throttled++ > 0) return false
        exchange.end('BAD Request is throttled. Suggested Backoff Time: 10 milliseconds')
        return true
      }
    })
    const { copied, failures } = await copy(store, port)
    assert.deepEqual([copied, failures], [3, []])
    assert.ok(throttled > 1)
  })
}

test('a folder without UIDVALIDITY fails with that reason', async (t) => {
  const store = await temporaryStore(t)
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [messageOf(1)] } },
    answer: ({ command, say, end }) => {
      if (!command.startsWith('EXAMINE')) return false
      say('1 EXISTS')
      end()
      return true
    }
  })
  const { failures } = await copy(store, port)
  assert.deepEqual(failures, ['null: the server gives this folder no UIDVALIDITY'])
})

test('a name that holds folders and no messages is left out, however the server writes so', async (t) => {
  const store = await temporaryStore(t)
  const names = ['\\Noselect', '\\NoSelect', '\\NOSELECT', '\\nonexistent']
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [messageOf(1)] } },
    answer: ({ command, say, end }) => {
      if (/^EXAMINE "?Lists/.test(command)) {
        end('NO no such mailbox')
        return true
      }
      if (command.startsWith('LIST') && !command.includes('"" ""'))
        names.forEach((attribute, number) => say(`LIST (${attribute}) "." "Lists${number}"`))
    }
  })
  const { folders, copied, failed, failures } = await copy(store, port)
  assert.deepEqual([folders, copied, failed, failures], [1, 1, 0, []])
})

test('a list of messages may come as ESEARCH', async (t) => {
  const store = await temporaryStore(t)
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [1, 2, 3, 7].map(messageOf) } },
    answer: ({ command, say, end }) => {
      if (!command.startsWith('UID SEARCH')) return false
      say('ESEARCH (TAG "A1") UID ALL 1:3,7')
      end()
      return true
    }
  })
  await copy(store, port)
  assert.deepEqual(
    (await inbox(store)).map(({ uid }) => uid),
    [1, 2, 3, 7]
  )
})

test('a large message that is deleted while it is read does not come in as a part', async (t) => {
  const store = await temporaryStore(t)
  const folder = { uidValidity: 7, messages: [messageOf(1), { uid: 2, bytes: LARGE }] }
  const { port } = await startImapSource(t, {
    folders: { INBOX: folder },
    answer: ({ command }) => {
      if (command.includes('[]<1048576.')) folder.messages.splice(1, 1)
    }
  })
  const { copied, failed } = await copy(store, port)
  assert.deepEqual([copied, failed], [1, 0])
  assert.deepEqual(
    (await inbox(store)).map(({ uid }) => uid),
    [1]
  )
})

test('a large message of which the source gives only the beginning fails, and comes in the next run', async (t) => {
  const store = await temporaryStore(t)
  let isBad = true
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [{ uid: 2, bytes: LARGE }] } },
    answer: ({ command, say, end }) => {
      if (!isBad || !command.includes('[]<1048576.')) return false
      say('1 FETCH (UID 2 BODY[]<1048576> NIL)')
      end()
      return true
    }
  })
  const { copied, failures } = await copy(store, port)
  assert.deepEqual(
    [copied, failures],
    [0, ['2: the server gave only the beginning of this message']]
  )
  isBad = false
  assert.equal((await copy(store, port)).copied, 1)
  assert.deepEqual(
    (await inbox(store)).map(({ size }) => size),
    [LARGE.length]
  )
})

test('a message that is empty or too big is a failure, and keeps no other back', async (t) => {
  const store = await temporaryStore(t, { config: { maxMessageBytes: 2_000_000 } })
  const messages = [
    messageOf(1),
    { uid: 2, bytes: Buffer.alloc(0) },
    { uid: 3, bytes: LARGE },
    messageOf(4)
  ]
  const { port } = await startImapSource(t, { folders: { INBOX: { uidValidity: 7, messages } } })
  const { copied, failed, failures, told } = await copy(store, port)
  assert.deepEqual([copied, failed], [2, 2])
  assert.deepEqual([told[0], told.at(-1)], ['INBOX 0/4', 'INBOX 4/4'])
  assert.match(failures.sort().join('; '), /^2: .* is empty; 3: .* is larger than/)
})

test('a message that was swept while it waited for one before it keeps no other back', async (t) => {
  let laterMs = 0
  const store = await temporaryStore(t, { clock: { nowMs: () => Date.now() + laterMs } })
  const sizes = [LARGE.length, 50, 900_000, 60, LARGE.length - 1]
  const messages = sizes.map((size, at) => ({ uid: at + 1, bytes: LARGE.subarray(0, size) }))
  /** @type {import('node:net').Socket[]} */
  const silent = []
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages } },
    answer: ({ command, socket }) => {
      if (laterMs > 0 || !command.includes('[]<0.')) return false
      // The first is not answered. Those between have come when the last is asked for: more than an hour goes by.
      silent.push(socket)
      if (silent.length === 1) return true
      laterMs = 2 * 3600_000
      store.upkeep.sweep().then(() => silent.forEach((each) => each.destroy()))
      return true
    }
  })
  const { copied, failures } = await copy(store, port, 2)
  assert.deepEqual([copied, failures.map(([uid]) => uid)], [4, ['3']])
  assert.equal((await copy(store, port)).copied, 1)
})

for (const [what, text, failure] of /** @type {const} */ ([
  ['refuses', 'NO [UNAVAILABLE] it cannot be read', /^2: Command failed$/],
  ['leaves out', 'OK done', /^2: the server lists this message and does not give it$/]
]))
  test(`a message that the source ${what} is a failure, keeps no other back, and comes in the next run`, async (t) => {
    const store = await temporaryStore(t)
    const messages = [1, 2, 3].map(messageOf)
    let isBad = true
    const { port } = await startImapSource(t, {
      folders: { INBOX: { uidValidity: 7, messages } },
      answer: ({ command, end }) => {
        if (!isBad || !/^UID FETCH (1:3|2) .*BODY/.test(command)) return false
        end(text)
        return true
      }
    })
    const { copied, failed, failures } = await copy(store, port)
    assert.deepEqual([copied, failed], [2, 1])
    assert.match(failures.join('; '), failure)
    isBad = false
    const next = await copy(store, port)
    assert.deepEqual([next.copied, next.skipped, next.failed], [1, 2, 0])
  })

test('a large message that is deleted before it is read is no failure', async (t) => {
  const store = await temporaryStore(t)
  const messages = [messageOf(1), { uid: 2, bytes: LARGE }]
  const answer = (/** @type {Exchange} */ { command }) => {
    if (/^UID FETCH 2 .*BODY/.test(command)) messages.pop()
  }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages } },
    answer
  })
  const { copied, failed, failures } = await copy(store, port)
  assert.deepEqual({ copied, failed, failures }, { copied: 1, failed: 0, failures: [] })
})

test('a message that the source lists and does not describe is a failure', async (t) => {
  const store = await temporaryStore(t)
  const messages = [1, 2, 3].map(messageOf)
  const answer = (/** @type {Exchange} */ { command, say, end }) => {
    if (!/^UID FETCH .*RFC822\.SIZE/.test(command)) return false
    for (const uid of [1, 3]) say(`${uid} FETCH (UID ${uid} FLAGS () RFC822.SIZE 20)`)
    end()
    return true
  }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages } },
    answer
  })
  const { copied, failed, failures } = await copy(store, port)
  assert.equal(copied, 2)
  assert.equal(failed, 1)
  assert.deepEqual(failures, ['2: the server lists this message and does not give it'])
})

test('a message that the source cannot describe keeps no other of its folder back', async (t) => {
  const store = await temporaryStore(t)
  const messages = [1, 2, 3, 4, 5].map(messageOf)
  const answer = (/** @type {Exchange} */ { command, end }) => {
    const [, set = ''] = /^UID FETCH (\S+) .*RFC822\.SIZE/.exec(command) ?? []
    const [first = 0, last = first] = set.split(':').map(Number)
    if (first > 2 || last < 2) return false
    end('NO [SERVERBUG] its file is damaged')
    return true
  }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages } },
    answer
  })
  const { copied, failed, failures } = await copy(store, port)
  assert.deepEqual([copied, failed], [4, 1])
  assert.deepEqual(failures, ['2: the server lists this message and does not give it'])
})

test('a folder of which the source describes nothing fails as a whole', async (t) => {
  const store = await temporaryStore(t)
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [1, 2].map(messageOf) } },
    answer: ({ command, end }) => {
      if (!command.includes('RFC822.SIZE')) return false
      end('NO not now')
      return true
    }
  })
  const { copied, failed } = await copy(store, port)
  assert.deepEqual([copied, failed], [0, 1])
})

test('flags that somebody changes meanwhile are no description of a message', async (t) => {
  const store = await temporaryStore(t)
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [1, 2].map(messageOf) } },
    answer: ({ command, say }) => {
      if (command.includes('RFC822.SIZE')) say('2 FETCH (UID 2 FLAGS (\\Flagged))')
    }
  })
  const { copied, skipped } = await copy(store, port)
  assert.deepEqual([copied, skipped], [2, 0])
  assert.deepEqual(
    (await inbox(store)).map(({ internalDate }) => internalDate),
    [DATE, DATE]
  )
})

test('a Sent that was put away in another folder takes no use from that of today, nor from the one here', async (t) => {
  for (const today of [['Sent'], []]) {
    const store = await temporaryStore(t)
    const names = ['INBOX', 'Archive.Sent', ...today]
    const folders = Object.fromEntries(
      names.map((name) => [name, { uidValidity: 7, messages: [messageOf(1)] }])
    )
    const { port } = await startImapSource(t, { folders })
    assert.equal((await copy(store, port)).copied, names.length)
    const sent = (await store.listMailboxes()).find(({ specialUse }) => specialUse === '\\Sent')
    assert.equal(sent?.name, 'Sent')
  }
})
