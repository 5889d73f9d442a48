import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isMailError } from '../../../../src/errors.js'
import { LIMITS } from '../../../../src/imap/protocol/limits.js'
import { withGuessedUses } from '../../../../src/import/imap/guess-uses.js'
import { emptyExcludes, planFolders } from '../../../../src/import/imap/plan-folders.js'
import { flagsText, keepableFlags } from '../../../../src/import/imap/source-flags.js'
import { isLocal, parseSourceServer } from '../../../../src/import/imap/source-server.js'
import { toUidSet } from '../../../../src/import/imap/uid-ranges.js'

test('an address of a source has a user, and never a password', () => {
  assert.deepEqual(parseSourceServer('imaps://ann%40example.net@IMAP.example.net'), {
    host: 'imap.example.net',
    port: 993,
    isTls: true,
    user: 'ann@example.net',
    name: 'ann@example.net@imap.example.net'
  })
  assert.equal(parseSourceServer('imap://u1@[::1]:1143').port, 1143)
  assert.equal(isLocal(parseSourceServer('imap://u1@[::1]:1143')), true)
  assert.equal(isLocal(parseSourceServer('imap://u1@LOCALHOST')), true)
  assert.equal(isLocal(parseSourceServer('imap://u1@10.0.0.1')), false)
  assert.equal(isLocal(parseSourceServer('imap://u1@localhost.example.net')), false)
  assert.equal(parseSourceServer('imap://u1@old.example.net').port, 143)
  for (const text of [
    'u1@host',
    'http://u1@host',
    'imaps://host',
    'imaps://u1:secret@host',
    'imaps://%zz@host'
  ]) {
    assert.throws(
      () => parseSourceServer(text),
      (error) => {
        assert.ok(isMailError(error, 'ADDRESS_INVALID'), text)
        assert.ok(!String(error.detail).includes('secret'))
        return true
      }
    )
  }
})

test('sets of UIDs name each UID, and runs as ranges', () => {
  assert.equal(toUidSet([1, 2, 3, 7, 9, 10]), '1:3,7,9:10')
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 300 })), (numbers) => {
      const uids = numbers.sort((left, right) => left - right)
      const named = toUidSet(uids)
        .split(',')
        .filter((part) => part !== '')
        .flatMap((part) => {
          const [first = 0, last = first] = part.split(':').map(Number)
          return Array.from({ length: last - first + 1 }, (_, index) => first + index)
        })
      assert.deepEqual(named, uids)
    })
  )
})

test('flags that can be kept are told by their usual names, once and sorted', () => {
  const flags = ['\\seen', '\\Recent', '$Forwarded', '\\Seen', 'Junk', '\\*', 'two words', '']
  assert.equal(flagsText(keepableFlags(flags)), '$Forwarded Junk \\Seen')
  const system = ['\\ANSWERED', '\\flagged', '\\Deleted', '\\draft', '\\Seen']
  assert.equal(flagsText(keepableFlags(system)), '\\Answered \\Deleted \\Draft \\Flagged \\Seen')
  const longest = 'k'.repeat(LIMITS.keywordBytes)
  const keywords = ['a[b', 'a]b', 'a{b', 'a}b', longest, `${longest}k`, 'Gr\u00f6\u00dfe', '\u2713']
  assert.deepEqual(keepableFlags(keywords), ['a[b', 'a}b', longest])
})

/** @param {Partial<import('../../../../src/import/imap/source-connection.js').ListedFolder>} folder */
const listed = (folder) => ({
  path: 'X',
  levels: ['X'],
  use: null,
  isSubscribed: false,
  isSelectable: true,
  messages: 0,
  ...folder
})

test('every folder has a mailbox of its own, with a name that can be', () => {
  const plan = planFolders(
    [
      listed({ path: 'Sent.a/b', levels: ['Sent', 'a/b'] }),
      listed({ path: 'Sent.a_b', levels: ['Sent', 'a_b'] }),
      listed({ path: 'inbox', levels: ['inbox'] }),
      listed({ path: 'Level', levels: ['Level'], isSelectable: false }),
      listed({ path: 'Bell', levels: ['Be\u0007ll', ''] }),
      listed({ path: 'Sent', levels: ['Sent'], use: '\\Sent' }),
      listed({ path: 'Sent too', levels: ['Sent too'], use: '\\Sent' }),
      listed({ path: 'All', levels: ['All'], use: '\\All' }),
      ...['Archive', 'Drafts', 'Junk', 'Trash'].map((name) =>
        listed({ path: name, levels: [name], use: `\\${name}` })
      ),
      listed({ path: 'Caf\u00e9', levels: ['Caf\u00e9'] }),
      listed({ path: 'Cafe\u0301', levels: ['Cafe\u0301'] }),
      listed({ path: 'Zap', levels: ['Zap', 'a/b/c\u009f\u2028\u2029', '\ud800x'] }),
      listed({ path: 'Old.2001', levels: ['Old', '2001'] })
    ],
    { exclude: ['Old'] }
  )
  assert.deepEqual(
    plan.map(({ mailbox, use }) => [mailbox, use]),
    [
      ['INBOX', null],
      ['All', null],
      ['Archive', '\\Archive'],
      ['Be_ll/_', null],
      ['Caf\u00e9', null],
      ['Caf\u00e9 (2)', null],
      ['Drafts', '\\Drafts'],
      ['Junk', '\\Junk'],
      ['Sent', '\\Sent'],
      ['Sent too', null],
      ['Sent/a_b', null],
      ['Sent/a_b (2)', null],
      ['Trash', '\\Trash'],
      ['Zap/a_b_c___/\ufffdx', null]
    ]
  )
})

test('where the server says no use, the name of a folder tells it that was not put away deeper down', () => {
  /** @type {[Record<string, string | null>, Record<string, string>][]} */
  const cases = [
    [{ 'Archive.Sent': null, 'Archive.Trash': null, Sent: null }, { Sent: '\\Sent' }],
    [{ '2019.Gesendet': null, Papierkorb: null }, { Papierkorb: '\\Trash' }],
    [{ 'Sent Mail': null, Sent: null }, { Sent: '\\Sent' }],
    [{ 'INBOX.Sent': null, 'INBOX.Old.Trash': null }, { 'INBOX.Sent': '\\Sent' }],
    [{ 'INBOX.Sent': null, 'Sent Items': null }, { 'Sent Items': '\\Sent' }],
    [{ Sent: null, 'Mine.Out': '\\Sent' }, { 'Mine.Out': '\\Sent' }]
  ]
  for (const [folders, expected] of cases) {
    const all = Object.entries(folders).map(([path, use]) =>
      listed({ path, levels: path.split('.'), use })
    )
    const uses = withGuessedUses(all).filter(({ use }) => use !== null && use !== '\\Archive')
    assert.deepEqual(Object.fromEntries(uses.map(({ path, use }) => [path, use])), expected)
  }
})

test('where nothing was ever subscribed at the source, mail programs are shown all of it here', () => {
  const planOf = (/** @type {Record<string, boolean>} */ folders) =>
    planFolders(
      Object.entries(folders).map(([path, isSubscribed]) =>
        listed({ path, levels: [path], isSubscribed })
      )
    ).flatMap(({ mailbox, isSubscribed }) => (isSubscribed ? [mailbox] : []))
  assert.deepEqual(planOf({ INBOX: true, Sent: false, Work: false }), ['INBOX', 'Sent', 'Work'])
  assert.deepEqual(planOf({ INBOX: true, Sent: false, Work: true }), ['INBOX', 'Work'])
})

test('what was to be left out and is not there is told apart from what is', () => {
  const folders = [
    listed({ path: 'Lists.Old', levels: ['Lists', 'Old'] }),
    listed({ path: 'Level', levels: ['Level'], isSelectable: false })
  ]
  const names = ['Lists', 'Lists.Old', 'Lists/Old', 'Level', 'List', 'lists', 'Lists/Older']
  assert.deepEqual(emptyExcludes(folders, names), ['List', 'lists', 'Lists/Older'])
})

for (const name of ['Lists.Old', 'Lists/Old'])
  test(`leaving out ${name} leaves out all below it, by whatever name it is called`, () => {
    const plan = planFolders(
      ['Lists', 'Lists.Old', 'Lists.Old.2001', 'Lists.Older'].map((path) =>
        listed({ path, levels: path.split('.') })
      ),
      { exclude: [name] }
    )
    assert.deepEqual(
      plan.map(({ mailbox }) => mailbox),
      ['Lists', 'Lists/Older']
    )
  })

test('what is to be left out may be written otherwise than the source writes it', () => {
  const folders = ['INBOX', 'INBOX.Cafe\u0301', 'INBOX.Cafe\u0301.Old', 'Lists'].map((path) =>
    listed({ path, levels: path.split('.') })
  )
  for (const [name, left] of /** @type {const} */ ([
    ['inbox', ['Lists']],
    ['Inbox/', ['Lists']],
    ['INBOX.Caf\u00e9', ['INBOX', 'Lists']],
    ['inbox/Caf\u00e9/', ['INBOX', 'Lists']],
    ['Lists/', ['INBOX', 'INBOX/Caf\u00e9', 'INBOX/Caf\u00e9/Old']]
  ])) {
    const plan = planFolders(folders, { exclude: [name] })
    assert.deepEqual(
      plan.map(({ mailbox }) => mailbox),
      left
    )
    assert.deepEqual(emptyExcludes(folders, [name]), [])
  }
})
