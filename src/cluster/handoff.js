/**
 * Hands a session over to the worker that has the account open, after the login: one frame with the account, its key and
 * what is known of the client; the answer; from then on the same connection carries the session's bytes.
 *
 *     → {"op":"session","accountId","keyEpoch","credentialId","credentialVersion","scope","sessionId","remoteAddress","isTls","clientName"} + key
 *     ← {"state":"taken"} | {"state":"moved"} | {"state":"refused","code"} | {"state":"failed"}
 */
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { MailError, isMailError } from '../errors.js'
import { onreadShared } from '../support/shared-read.js'
import { readFrame, writeFrame } from './frame.js'

/** @import { Socket } from 'node:net' */
/** @import { Unlocked } from '../accounts/unlock.js' */
/** @import { Frame } from './frame.js' */

/** A mailbox may take at most so long to open, ms, as while another process holds its lock; then the client must come back. */
const ANSWER_MS = 60_000

/** A worker says nothing here while it opens a mailbox: so often it is asked over its link whether it lives, ms. */
const LOOK_MS = 1_000

/**
 * @typedef {object} ClientFacts
 * @property {string} sessionId - also in the log of both workers
 * @property {string} remoteAddress
 * @property {boolean} isTls
 * @property {string | null} [clientName] - as the client says
 */

/** @typedef {{ state: 'taken', socket: Socket } | { state: 'moved' | 'gone' | 'silent' }} Offer */

/**
 * @param {string} path - the holder's socket
 * @param {Unlocked} unlocked - its key stays the caller's
 * @param {ClientFacts} client
 * @param {() => Promise<boolean>} isHolderAlive - false: this stops waiting for the holder
 * @returns {Promise<Offer>} `moved`: it takes no sessions any more; `gone`: nobody listens there; `silent`: no answer
 * @throws {MailError} what opening the mailbox threw there
 */
export async function offerSession(path, unlocked, client, isHolderAlive) {
  const { account, credentialId, credentialVersion, scope, masterKey } = unlocked
  const onread = onreadShared(() => socket)
  // Half-open, as the client's own connection is.
  const socket = createConnection({ path, allowHalfOpen: true, onread })
  try {
    await once(socket, 'connect')
  } catch {
    return { state: 'gone' }
  }
  socket.on('error', () => socket.destroy())
  // Fields are picked one by one: what else `client` has, the password for instance, does not leave this process.
  const { sessionId, remoteAddress, isTls, clientName = null } = client
  const { id: accountId, keyEpoch } = account
  const login = { accountId, keyEpoch, credentialId, credentialVersion, scope }
  const facts = { op: 'session', ...login, sessionId, remoteAddress, isTls, clientName }
  writeFrame(socket, facts, masterKey.bytes)
  const frame = await readAnswer(socket, isHolderAlive)
  const { state = 'silent', code } = frame?.value ?? {}
  if (state === 'taken') return { state, socket }
  socket.destroy()
  if (state === 'refused')
    throw new MailError(code, { detail: 'by the worker that has the account open' })
  if (state === 'failed') throw new Error('The worker that holds the account failed to open it')
  return { state: state === 'moved' ? 'moved' : 'silent' }
}

/**
 * @param {Socket} socket - destroyed where the holder gives no answer
 * @param {() => Promise<boolean>} isHolderAlive
 * @returns {Promise<Frame | null>} null: no answer
 */
async function readAnswer(socket, isHolderAlive) {
  let isAnswered = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const lookLater = () => {
    timer = setTimeout(async () => {
      const isAlive = await isHolderAlive()
      if (isAnswered) return
      if (isAlive) lookLater()
      else socket.destroy()
    }, LOOK_MS)
  }
  lookLater()
  try {
    return await readFrame(socket, { timeoutMs: ANSWER_MS })
  } finally {
    isAnswered = true
    clearTimeout(timer)
  }
}

/**
 * @typedef {object} HandoffPort - what the holder's side needs of its process
 * @property {() => boolean} isTaking - whether sessions may still begin here
 * @property {() => boolean} admits - whether the process can bear one more session
 * @property {(accountId: string) => boolean} hasRoomFor
 * @property {(accountId: string) => Promise<import('../accounts/directory-port.js').Account | null>} findAccount
 * @property {(unlocked: Unlocked) => Promise<import('../accounts/open-accounts.js').AcquiredAccount>} acquire - disposes
 *   of the key
 * @property {(session: { socket: Socket, login: import('../accounts/open-accounts.js').AcquiredAccount } & ClientFacts) => void} adopt
 */

/**
 * The holder's side.
 *
 * @param {Socket} socket
 * @param {Frame} frame - whose `op` is `session`
 * @param {HandoffPort} port
 * @throws any error but a MailError, after `failed` was sent
 */
export async function takeSession(socket, { value, secret }, port) {
  const { accountId, keyEpoch, credentialId, credentialVersion, scope, ...client } = value
  const refuse = (/** @type {object} */ answer) => {
    writeFrame(socket, answer)
    socket.end()
  }
  try {
    if (!port.isTaking()) return refuse({ state: 'moved' })
    const found = await port.findAccount(accountId)
    if (found === null) throw new MailError('AUTHENTICATION_FAILED')
    // The key belongs to the epoch that the login found; a worker of an earlier release does not send it.
    const account = { ...found, keyEpoch: keyEpoch ?? found.keyEpoch }
    if (!port.admits()) throw new MailError('OVERLOADED')
    const masterKey = secret.clone()
    const unlocked = { account, credentialId, credentialVersion, scope, masterKey }
    const login = await port.acquire(unlocked)
    // Counted once the mailbox is open, as for sessions that come in here: before, all that wait for it would be let in.
    if (!port.hasRoomFor(accountId)) {
      await login.release()
      throw new MailError('LIMIT', { detail: 'sessions' })
    }
    writeFrame(socket, { state: 'taken' })
    const { sessionId, remoteAddress, isTls, clientName } = client
    port.adopt({ socket, login, sessionId, remoteAddress, isTls, clientName })
  } catch (error) {
    if (isMailError(error, 'SHUTTING_DOWN')) return refuse({ state: 'moved' })
    if (error instanceof MailError) return refuse({ state: 'refused', code: error.code })
    refuse({ state: 'failed' })
    throw error
  } finally {
    secret.dispose()
  }
}
