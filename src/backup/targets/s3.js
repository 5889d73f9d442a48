/**
 * Backups in S3-compatible object storage. Credentials come from where the AWS tools take them: the environment, the
 * shared files of ~/.aws, the machine's role. Requests are repeated with backoff by the client, for seconds; a server that
 * is away for longer is waited for as patience.js says. Each object is sent with a SHA-256 that the server checks.
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException
} from '@aws-sdk/client-s3'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { Upload } from '@aws-sdk/lib-storage'
import { MailError } from '../../errors.js'
import { RateLimit } from '../rate-limit.js'

/** From this size on an object is sent in parts, bytes; S3 wants parts of 5 MiB at least. */
const PART_BYTES = 8 * 1024 * 1024

/** Tries of one request, with backoff between them. */
const MAX_ATTEMPTS = 6

/** A server that is silent for so long is asked again, ms: without an end, one that hangs would keep all later backups away. */
const CONNECT_MS = 15_000
const SILENCE_MS = 60_000

/** Pause before a body that was cut is asked for again, ms, doubled each time. */
const BODY_BACKOFF_MS = 50

/** One request removes at most so many names. */
const REMOVE_AT_ONCE = 1000

/**
 * @typedef {object} S3Settings
 * @property {string} bucket
 * @property {string} prefix - '' or with a '/' at its end
 * @property {string} endpoint - '' for Amazon's own
 * @property {string} region
 * @property {boolean} isPathStyle
 * @property {number} bytesPerSecond - 0: no limit
 * @property {NodeJS.ProcessEnv} [proxies] - HTTPS_PROXY and the like; default: none
 * @property {number} [silenceMs] - default: SILENCE_MS
 * @property {number} [maxAttempts] - default: MAX_ATTEMPTS
 * @property {import('./patience.js').Patience} [patience] - default: none, whoever asks shall not wait
 */

/** Names of errors about an object that is not there (`NotFound` after HEAD, which has no body), or that ends before a range. */
const MISSING = new Set(['NoSuchKey', 'NotFound', 'InvalidRange'])

/**
 * @param {unknown} error
 * @returns {boolean}
 */
const isMissing = (error) => error instanceof S3ServiceException && MISSING.has(error.name)

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | null>} null where there is no such object, or not as much of it
 */
async function unlessMissing(work) {
  try {
    return await work()
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/**
 * @param {unknown} error - of the client; its message names no secret
 * @returns {string} for the operator
 */
function wordsOf(error) {
  const { name, message } = /** @type {Error} */ (error)
  // None of a host's several addresses answers: the words are in the errors of the single attempts.
  if (error instanceof AggregateError && message === '') return error.errors.map(wordsOf).join('; ')
  return `${name}: ${message}`
}

/** What a server that is started anew, or changed for another one, looks like from here. */
const AWAY = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'TimeoutError', 'RequestTimeout', 'SlowDown']
])
const AWAY_STATUS = new Set([429, 500, 502, 503, 504])

/**
 * @param {unknown} error - of the client
 * @returns {import('./patience.js').Absence | null} null where the server has answered, or cannot be asked at all
 */
function absenceOf(error) {
  if (!(error instanceof Error) || error instanceof MailError) return null
  const { name, code, $metadata, $response } =
    /** @type {Error & { code?: string } & Partial<Pick<S3ServiceException, '$metadata' | '$response'>>} */ (
      error
    )
  const isAway =
    AWAY.has(name) || AWAY.has(code ?? '') || AWAY_STATUS.has($metadata?.httpStatusCode ?? 0)
  if (!isAway) return null
  const seconds = Number($response?.headers['retry-after'])
  return { words: wordsOf(error), pauseMs: seconds > 0 ? seconds * 1000 : 0 }
}

/**
 * Looked at here because the client, in its error about an invalid URL, would tell the URL and the password in it.
 *
 * @param {NodeJS.ProcessEnv} proxies
 * @returns {string | null} for the operator; null where each can be used
 */
function whyNoProxy(proxies) {
  for (const [name, url] of Object.entries(proxies)) {
    if (!url || /^no/i.test(name)) continue
    try {
      const { protocol, username, password } = new URL(url)
      decodeURIComponent(`${username}:${password}`)
      // Node silently goes past a proxy of a protocol that it does not know.
      if (protocol !== 'http:' && protocol !== 'https:')
        return `${name} names a proxy of ${protocol}//, and only those of http:// and https:// are known here; take it from the environment to go without`
    } catch {
      return `${name} is no URL of a proxy (http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT, with %25 for each % in these)`
    }
  }
  return null
}

/**
 * The client takes any answer for a list, if need be an empty one: what only the backups missing from it need would be removed.
 *
 * @param {import('@aws-sdk/client-s3').ListObjectsV2CommandOutput} page
 * @throws {MailError} BACKUP_UNREACHABLE
 */
function requireWhole({ Name, KeyCount, IsTruncated, NextContinuationToken }) {
  const isList = Name !== undefined || KeyCount !== undefined || IsTruncated !== undefined
  if (isList && (IsTruncated !== true || NextContinuationToken !== undefined)) return
  throw new MailError('BACKUP_UNREACHABLE', { detail: 'what was answered is no list of objects' })
}

/**
 * @param {S3Settings} settings
 * @returns {import('./target.js').BackupTarget}
 */
export function openS3Target({
  bucket,
  prefix,
  endpoint,
  region,
  isPathStyle,
  bytesPerSecond,
  proxies = {},
  silenceMs = SILENCE_MS,
  maxAttempts = MAX_ATTEMPTS,
  patience
}) {
  const agent = { proxyEnv: proxies }
  const noProxy = whyNoProxy(proxies)
  const client = new S3Client({
    region,
    forcePathStyle: isPathStyle,
    maxAttempts,
    retryMode: 'standard',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: silenceMs,
      httpAgent: agent,
      httpsAgent: agent
    },
    // For a request with `Expect: 100-continue` the client makes an agent of its own, which goes past the proxy.
    ...(Object.keys(proxies).length > 0 && { expectContinueHeader: false }),
    // A server looks here for years: left to itself, the client reads ~/.aws once for each process.
    credentials: defaultProvider({ ignoreCache: true }),
    // Left to itself, the client also holds the checksum that comes with a range against it: see `read`.
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint !== '' && { endpoint })
  })
  const label = `s3://${bucket}/${prefix}`
  const limit = new RateLimit(bytesPerSecond)
  const where = (/** @type {string} */ name) => ({ Bucket: bucket, Key: prefix + name })
  const checksum = { ChecksumAlgorithm: /** @type {const} */ ('SHA256') }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async function reached(work) {
    if (noProxy !== null)
      throw new MailError('BACKUP_UNREACHABLE', { detail: `${label}: ${noProxy}` })
    try {
      return await (patience ? patience.run(work, absenceOf) : work())
    } catch (error) {
      if (error instanceof MailError) throw error
      const detail = `${label}: ${wordsOf(error)}`
      throw new MailError('BACKUP_UNREACHABLE', { detail, cause: error })
    }
  }

  /**
   * The client repeats a request that gets no answer; an answer whose body is cut is asked for again here.
   *
   * @param {import('@aws-sdk/client-s3').GetObjectCommandInput} input
   * @returns {Promise<Buffer>}
   */
  async function readBody(input) {
    for (let attempt = 1; ; attempt++) {
      const { Body } = await client.send(new GetObjectCommand(input))
      try {
        return Buffer.from((await Body?.transformToByteArray()) ?? new Uint8Array(0))
      } catch (error) {
        if (attempt >= maxAttempts) throw error
      }
      await sleep(BODY_BACKOFF_MS * 2 ** attempt)
    }
  }

  /**
   * Some servers give the checksum of the whole object with a range of it. What is read in ranges has a SHA-256 of ours.
   *
   * @param {string} name
   * @param {string | undefined} range
   * @returns {Promise<Buffer | null>}
   */
  async function read(name, range) {
    const how =
      range === undefined ? { ChecksumMode: /** @type {const} */ ('ENABLED') } : { Range: range }
    const input = { ...where(name), ...how }
    const bytes = await reached(() => unlessMissing(() => readBody(input)))
    if (bytes) await limit.take(bytes.length)
    return bytes
  }

  /** @type {import('./target.js').BackupTarget['put']} */
  const put = (name, bytes) =>
    reached(async () => {
      await limit.take(bytes.length)
      await client.send(new PutObjectCommand({ ...where(name), Body: bytes, ...checksum }))
    })

  return {
    label,
    put,
    putFile: (name, path) =>
      reached(async () => {
        const { size } = await stat(path)
        // lib-storage reads it part by part, and aborts the upload where one fails.
        const upload = new Upload({
          client,
          partSize: PART_BYTES,
          queueSize: 2,
          params: {
            ...where(name),
            Body: limited(path, limit),
            ...checksum
          }
        })
        await upload.done()
        const stored = await client.send(new HeadObjectCommand(where(name)))
        if (stored.ContentLength !== size)
          throw new MailError('BACKUP_UNREACHABLE', {
            detail: `${name} was stored with another size`
          })
      }),
    get: (name) => read(name, undefined),
    getRange: async (name, offset, length) => {
      if (length === 0) return Buffer.alloc(0)
      const bytes = await read(name, `bytes=${offset}-${offset + length - 1}`)
      if (bytes?.length !== length)
        throw new MailError('BACKUP_DAMAGED', { detail: `${name} is missing or too short` })
      return bytes
    },
    size: async (name) => {
      const found = await reached(() =>
        unlessMissing(() => client.send(new HeadObjectCommand(where(name))))
      )
      return found?.ContentLength ?? null
    },
    async *list(namePrefix) {
      const all = { Bucket: bucket, Prefix: prefix + namePrefix }
      /** @type {string | undefined} */
      let token
      do {
        const from = token
        const page = await reached(() =>
          client.send(new ListObjectsV2Command({ ...all, ContinuationToken: from }))
        )
        requireWhole(page)
        token = page.NextContinuationToken
        // With the same token, the next page would be this one again, for ever.
        if (token !== undefined && token === from)
          throw new MailError('BACKUP_UNREACHABLE', { detail: 'the list of objects has no end' })
        for (const { Key = '', Size = 0 } of page.Contents ?? [])
          yield { name: Key.slice(prefix.length), size: Size }
      } while (token !== undefined)
    },
    remove: async (names) => {
      for (let at = 0; at < names.length; at += REMOVE_AT_ONCE) {
        const Objects = names.slice(at, at + REMOVE_AT_ONCE).map((name) => ({ Key: prefix + name }))
        const { Errors = [] } = await reached(() =>
          client.send(
            new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } })
          )
        )
        const [failed] = Errors
        if (failed)
          throw new MailError('BACKUP_UNREACHABLE', {
            detail: `removing: ${failed.Code ?? 'failed'}`
          })
      }
    },
    close: async () => client.destroy()
  }
}

/**
 * @param {string} path
 * @param {RateLimit} limit
 * @returns {import('node:stream').Readable}
 */
function limited(path, limit) {
  const file = createReadStream(path, { highWaterMark: 256 * 1024 })
  return Readable.from(limit.throttle(file), { objectMode: false })
}
