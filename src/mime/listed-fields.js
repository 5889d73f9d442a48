/**
 * Which header fields mail programs ask for in message lists, and which of their lines stand apart in what is stored.
 */
import { numberOfFieldName } from './field-name.js'

/**
 * The fields that Thunderbird, K-9, Apple Mail, NeoMutt, mutt, Roundcube, imapflow, Evolution, Alpine, PHP and Delta Chat ask
 * for. A field is stored as its place in this list: append only, and a new one never stands apart, so that older code reads
 * past it.
 */
export const LISTED_FIELDS = [
  'received',
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'date',
  'message-id',
  'priority',
  'x-priority',
  'references',
  'newsgroups',
  'in-reply-to',
  'content-type',
  'reply-to',
  'sender',
  'list-id',
  'list-post',
  'list-help',
  'list-subscribe',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-archive',
  'list-owner',
  'content-description',
  'content-transfer-encoding',
  'lines',
  'x-label',
  'x-original-to',
  'delivered-to',
  'autocrypt',
  'importance',
  'x-msmail-priority',
  'x-uniform-type-identifier',
  'x-universally-unique-identifier',
  'x-spam-flag',
  'x-spam-status',
  'x-spam-score',
  'x-spam-level',
  'x-mailer',
  'user-agent',
  'disposition-notification-to',
  'followup-to',
  'mail-followup-to',
  'mail-reply-to',
  'return-path',
  'resent-from',
  'resent-to',
  'resent-date',
  'auto-submitted',
  'precedence',
  'mime-version',
  'x-tuid',
  'x-offlineimap',
  'x-mozilla-draft-info',
  'x-draft-info',
  'thread-topic',
  'thread-index',
  'x-forwarded-message-id',
  'x-identity-key',
  'x-k9mail-identity',
  'chat-version',
  'dkim-signature',
  'authentication-results',
  'received-spf',
  'x-forefront-antispam-report',
  'bimi-indicator',
  'bimi-location',
  'x-bimi-indicator-hash',
  'content-class',
  'x-calendar-attachment',
  'x-mailing-list',
  'x-loop',
  'mailing-list',
  'originator',
  'x-list',
  'x-beenthere',
  'path',
  'content-md5',
  'content-disposition',
  'content-language',
  'content-location',
  'x-microsoft-original-message-id',
  'secure-join',
  'chat-is-post-message',
  'autocrypt-setup-message'
]

/** So many of them had been listed before entries told about other fields. */
export const FIRST_LISTED = 62

/** @typedef {'received' | 'signatures'} ApartKind */

/** @type {Readonly<Record<ApartKind, readonly string[]>>} */
const APART = {
  received: ['received'],
  signatures: [
    'dkim-signature',
    'authentication-results',
    'received-spf',
    'x-forefront-antispam-report',
    'bimi-indicator'
  ]
}

/** Where the lines of each field stand, by its number: 0 with the others, or 1 + their place in this list. */
export const PLACES = new Uint8Array(256)
/** @type {readonly ApartKind[]} */
export const APART_KINDS = ['received', 'signatures']
for (const [index, kind] of APART_KINDS.entries())
  for (const name of APART[kind]) PLACES[LISTED_FIELDS.indexOf(name)] = index + 1

/** The numbers of the listed fields by the numbers of their names, of which no two are the same. */
export const BY_NAME_NUMBER = new Map(
  LISTED_FIELDS.map((name, number) => [numberOfFieldName(name), number])
)
