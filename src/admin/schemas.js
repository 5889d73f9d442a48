/**
 * JSON schemas of requests and answers: what is checked, what may leave, and the OpenAPI document in one.
 */
import { TENANT_ID_PATTERN } from '../accounts/tenant-id.js'
import { PROBLEM_TYPE } from './problem.js'

/** A safe integer that is not negative. */
export const COUNT = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER
}

const TIME = { ...COUNT, description: 'Milliseconds since 1970-01-01T00:00:00Z' }
const OPTIONAL_TIME = { ...TIME, type: ['integer', 'null'] }
const OPTIONAL_COUNT = { ...COUNT, type: ['integer', 'null'] }
const TEXT = { type: 'string' }
const OPTIONAL_TEXT = { type: ['string', 'null'] }

export const ACCOUNT_ID = {
  type: 'string',
  pattern: '^[0-9a-f]{16}$',
  description: '16 hexadecimal digits'
}

export const TENANT_ID = {
  type: 'string',
  pattern: TENANT_ID_PATTERN,
  maxLength: 253,
  description: 'Lower case; a domain that nobody has assigned has a tenant of its own name'
}

export const ADDRESS = {
  type: 'string',
  minLength: 1,
  maxLength: 320,
  description: 'A mail address'
}

export const LABEL = {
  type: 'string',
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'Without control characters'
}
export const LIMIT = { type: 'integer', minimum: 1, maximum: 500, default: 50 }
export const BEFORE = {
  ...COUNT,
  description: 'Only what is older than this id: the last one of the page before'
}

/**
 * @param {Record<string, object>} properties - all of them always there
 * @param {string} [description]
 * @returns {object}
 */
export function always(properties, description) {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties),
    properties,
    ...(description !== undefined && { description })
  }
}

/**
 * @param {string} name
 * @param {object} items
 * @param {Record<string, object>} [more]
 * @returns {object} `{ name: [items], … }`
 */
export const listOf = (name, items, more = {}) =>
  always({ [name]: { type: 'array', items }, ...more })

/**
 * @param {Record<string, object>} properties
 * @param {string[]} [required]
 * @returns {object} of a request: nothing else is taken
 */
export function input(properties, required = []) {
  return { type: 'object', additionalProperties: false, required, properties }
}

const PROBLEM = {
  type: 'object',
  description: 'Problem details, RFC 9457',
  required: ['type', 'title', 'status'],
  properties: {
    type: TEXT,
    title: TEXT,
    status: { type: 'integer' },
    detail: TEXT,
    code: TEXT,
    reference: TEXT,
    errors: { type: 'array', items: always({ path: TEXT, message: TEXT }) }
  }
}

/**
 * @param {Record<number, object>} good - by status
 * @returns {Record<string, object>} with the problems that every route may answer
 */
export function answers(good) {
  const problem = (/** @type {string} */ description) => ({
    description,
    content: { [PROBLEM_TYPE]: { schema: PROBLEM } }
  })
  return { ...good, '4xx': problem('The request was refused'), '5xx': problem('It failed here') }
}

/** The schema of an empty answer: 204. */
export const NOTHING = { type: 'null', description: 'Done' }

export const TOKEN = always({
  id: TEXT,
  label: TEXT,
  scopes: {
    type: 'array',
    items: { type: 'string', enum: ['read', 'accounts', 'backups', 'all'] }
  },
  tenant: OPTIONAL_TEXT,
  createdAtMs: TIME,
  expiresAtMs: OPTIONAL_TIME
})

export const TENANT = always({
  id: TEXT,
  label: TEXT,
  createdAtMs: TIME,
  quotaBytes: { ...COUNT, description: 'Of all its accounts together; 0: no limit' },
  maxAccounts: { ...COUNT, description: '0: no limit' },
  domains: { type: 'array', items: TEXT },
  accounts: COUNT,
  usedBytes: COUNT,
  usedMessages: COUNT,
  fileBytes: { ...COUNT, description: 'Of its files, as far as maintenance has looked at them' },
  freeBytes: { ...COUNT, description: 'Of these, in pages without content' }
})

export const ACCOUNT = always({
  id: TEXT,
  address: TEXT,
  domain: TEXT,
  tenant: TEXT,
  createdAtMs: TIME,
  isEnabled: { type: 'boolean' },
  quotaBytes: { ...COUNT, description: '0: no limit' },
  quotaMessages: { ...COUNT, description: '0: no limit' },
  usedBytes: COUNT,
  usedMessages: COUNT,
  fileBytes: { ...OPTIONAL_COUNT, description: 'null: maintenance has never looked at it' },
  freeBytes: OPTIONAL_COUNT,
  failingJobs: COUNT
})

export const CREDENTIAL = always({
  id: TEXT,
  kind: { type: 'string', enum: ['password', 'app-password', 'recovery'] },
  label: TEXT,
  scope: { type: 'string', enum: ['read-write', 'read-only'] },
  createdAtMs: TIME,
  changedAtMs: TIME,
  expiresAtMs: OPTIONAL_TIME,
  lastUsedAtMs: OPTIONAL_TIME
})

export const SESSION = always({
  id: TEXT,
  accountId: TEXT,
  address: TEXT,
  remoteAddress: TEXT,
  startedAtMs: TIME,
  scope: { type: 'string', enum: ['read-write', 'read-only'] },
  isTls: { type: 'boolean' },
  isCompressed: { type: 'boolean' },
  isIdling: { type: 'boolean' }
})

const FIGURES = { type: 'object', additionalProperties: { type: 'number' } }

export const MAINTENANCE_RUN = always({
  id: COUNT,
  accountId: TEXT,
  address: TEXT,
  job: TEXT,
  atMs: TIME,
  why: TEXT,
  result: { type: 'string', enum: ['done', 'skipped', 'stopped', 'failed'] },
  note: OPTIONAL_TEXT,
  before: FIGURES,
  after: FIGURES,
  tookMs: COUNT
})

export const BACKUP = always({
  name: TEXT,
  startedAtMs: TIME,
  accounts: {
    ...OPTIONAL_COUNT,
    description: 'null where this host has no record, or for a tenant'
  },
  failed: OPTIONAL_COUNT,
  newBytes: OPTIONAL_COUNT,
  sharedBytes: OPTIONAL_COUNT,
  storedBytes: OPTIONAL_COUNT,
  durationMs: OPTIONAL_COUNT
})

export const AUDIT_EVENT = always({
  id: COUNT,
  atMs: TIME,
  action: TEXT,
  accountId: OPTIONAL_TEXT,
  tenant: OPTIONAL_TEXT,
  remoteAddress: OPTIONAL_TEXT,
  detail: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] }
  }
})

export const CHECK = always({
  name: TEXT,
  status: { type: 'string', enum: ['ok', 'warn', 'fail'] },
  text: { type: 'string', description: 'A sentence for people' }
})
