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

/** Stands for all that is between the lines of listed fields: other fields, lines that are none, the blank line at the end. */
export const REST = 255

/**
 * Lines that stand apart in what is stored, each kind by itself.
 *
 * @typedef {'received' | 'signatures' | 'rest'} ApartKind
 */

/** @type {readonly ApartKind[]} */
export const APART_KINDS = ['received', 'signatures', 'rest']

/** Those who vouch for a message. */
const SIGNATURES = [
  'dkim-signature',
  'authentication-results',
  'received-spf',
  'x-forefront-antispam-report',
  'bimi-indicator'
]

/** Where the lines of each field stand, by its number: 0 with most others, or 1 + the place in APART_KINDS. */
export const PLACES = new Uint8Array(256)
PLACES[LISTED_FIELDS.indexOf('received')] = 1
for (const name of SIGNATURES) PLACES[LISTED_FIELDS.indexOf(name)] = 2
PLACES[REST] = 3

/** The numbers of the listed fields by the numbers of their names, of which no two are the same. */
export const BY_NAME_NUMBER = new Map(
  LISTED_FIELDS.map((name, number) => [numberOfFieldName(name), number])
)
