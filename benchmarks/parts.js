/**
 * The parts of the suite, in the order in which a whole run goes through them.
 */
import { availableParallelism } from 'node:os'
import { setUpServers } from './imap/set-up.js'
import { setUpMailpit } from './mailpit/set-up.js'

/** @typedef {import('./lib/question.js').Part} Part */

/**
 * @param {string} folder
 * @param {string[]} names
 * @returns {URL[]}
 */
const files = (folder, names) =>
  names.map((name) => new URL(`${folder}/${name}.bench.js`, import.meta.url))

/** Messages of the large mailbox where it plays no part. */
const FEW = 100

/** @type {readonly Part[]} */
export const PARTS = [
  {
    id: 'sqlite',
    title: 'Pragmas and ciphers on the schema of a production mail service',
    questions: files('sqlite', ['published', 'corrected', 'open']),
    canChangeNode: true
  },
  {
    id: 'log',
    title: 'A log of small, similar records',
    questions: files('log', ['append', 'read', 'size', 'append-slow-disk', 'read-slow-disk'])
  },
  {
    id: 'mailpit',
    title: 'A test mail server’s move to SQLite: insert, list and search',
    questions: files('mailpit', ['insert', 'list', 'search', 'memory', 'delete-all']),
    setUp: setUpMailpit
  },
  {
    id: 'mailstore-2003',
    title: 'A desktop mail store of 2003',
    questions: files('mailstore-2003', ['open', 'add', 'size'])
  },
  {
    id: 'maintenance',
    title: 'What the server does to its mailboxes while they are in use',
    questions: files('maintenance', ['space', 'neighbour'])
  },
  {
    id: 'backup',
    title: 'What a backup moves',
    questions: files('backup', ['incremental'])
  },
  {
    id: 'abuse',
    title: 'What strangers can take from those who belong here',
    questions: files('abuse', ['brute-force'])
  },
  {
    id: 'imap',
    title: 'IMAP over the wire, beside Dovecot',
    questions: files('imap', [
      'flag-scan',
      'select',
      'envelope',
      'header-list',
      'apple-headers',
      'whole-headers',
      'body-structure',
      'body',
      'partial',
      'tls',
      'search',
      'small-mailbox',
      'sort',
      'append',
      'append-clients',
      'lmtp',
      'store',
      'copy-move',
      'expunge',
      'login',
      'mixed-clients',
      'idle-push',
      'idle-memory',
      'mailbox-memory',
      'flag-scan-opened'
    ]),
    setUp: setUpServers
  },
  {
    id: 'workers',
    title: 'Many users at once, with a worker for each core, beside Dovecot',
    questions: files('imap', ['append-clients', 'mixed-clients']),
    setUp: (options, scratch, tell) =>
      setUpServers({ ...options, messages: FEW }, scratch, tell, {
        workers: [1, Math.max(2, availableParallelism())]
      })
  }
]
