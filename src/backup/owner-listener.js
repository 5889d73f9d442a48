/**
 * The side of the process that has mailboxes open: answers backups and restores (owner-protocol.js).
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Freezer } from '../database/freeze.js'
import { MailError, isMailError } from '../errors.js'
import { requireShortPath } from '../support/unix-socket.js'
import { onJsonLine, socketName, writeJsonLine } from './owner-protocol.js'

/**
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('./owner-protocol.js').OwnerQuestion} OwnerQuestion
 * @typedef {import('./owner-protocol.js').OwnerAnswer} OwnerAnswer
 */

/**
 * @typedef {object} OwnerListener
 * @property {string} path - of the socket
 * @property {() => Promise<void>} close - lets go of every freeze
 */

/**
 * @param {object} options
 * @param {string} options.runFolder - `<data>/run`
 * @param {(accountId: string) => Promise<AccountStore | null>} options.findStore - null where it is not open here
 * @param {(accountId: string) => Promise<void>} options.closeMailbox - ends its sessions first
 * @param {(accountId: string) => void} options.ring - mail lies in its spool
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @returns {Promise<OwnerListener>}
 * @throws {MailError} CONFIG_INVALID where the path is too long for a socket
 */
export async function listenForBackups({ runFolder, findStore, closeMailbox, ring, logger }) {
  const random = randomBytes(4).toString('hex')
  const path = join(runFolder, socketName(random))
  const temporary = join(runFolder, `${random}.new`)
  requireShortPath(path)
  await mkdir(runFolder, { recursive: true, mode: 0o700 })
  const freezer = new Freezer()
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()

  const server = createServer((socket) => {
    sockets.add(socket)
    /** @type {Set<string>} */
    const tokens = new Set()
    const answer = answerer({ freezer, findStore, closeMailbox, ring, tokens })
    let last = Promise.resolve()
    onJsonLine(socket, (/** @type {OwnerQuestion | null} */ question) => {
      // JSON, but no question: the connection means as little as one that sends no JSON.
      if (question === null || typeof question !== 'object') return socket.destroy()
      last = last.then(async () => {
        const state = await answer(question).catch((err) => {
          if (!isMailError(err, 'SHUTTING_DOWN'))
            logger.warn({ err, op: question.op }, 'a backup’s question failed')
          return /** @type {const} */ ('failed')
        })
        if (socket.writable) writeJsonLine(socket, { state })
      })
    })
    // The asking process is gone, and what it froze means nothing to anybody.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      last
        // Even if an answer failed: what is not released would stay frozen for as long as was asked.
        .catch(() => {})
        .then(() => Promise.all([...tokens].map((token) => freezer.release(token))))
        .catch((err) => {
          if (!isMailError(err, 'SHUTTING_DOWN')) logger.warn({ err }, 'a freeze was not released')
        })
    })
  })
  // `exclusive`: in a worker of node:cluster the socket would else belong to the primary, and outlive the worker.
  server.listen({ path: temporary, exclusive: true })
  await once(server, 'listening')
  server.unref()
  // Under another name at first: a backup removes sockets at which nobody listens, as nobody does at a new one for a moment.
  await rename(temporary, path)
  return {
    path,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await freezer.close()
      await rm(path, { force: true })
    }
  }
}

/**
 * @param {object} parts
 * @param {Freezer} parts.freezer
 * @param {(accountId: string) => Promise<AccountStore | null>} parts.findStore
 * @param {(accountId: string) => Promise<void>} parts.closeMailbox
 * @param {(accountId: string) => void} parts.ring
 * @param {Set<string>} parts.tokens - that this connection has frozen
 * @returns {(question: OwnerQuestion) => Promise<OwnerAnswer>}
 */
function answerer({ freezer, findStore, closeMailbox, ring, tokens }) {
  return async (question) => {
    switch (question.op) {
      case 'ping':
        return 'alive'
      case 'freeze': {
        const { accountId, token, forMs } = question
        const store = await findStore(accountId)
        if (!store) return 'closed'
        try {
          await store.holdStill(freezer, { token, forMs })
        } catch (error) {
          if (error instanceof MailError && error.temporary) return 'busy'
          throw error
        }
        tokens.add(token)
        return 'held'
      }
      case 'renew':
        return tokens.has(question.token) && (await freezer.renew(question.token, question.forMs))
          ? 'held'
          : 'broken'
      case 'thaw':
        return tokens.delete(question.token) && (await freezer.release(question.token))
          ? 'unbroken'
          : 'broken'
      case 'close':
        await closeMailbox(question.accountId)
        return 'closed'
      case 'ring':
        ring(question.accountId)
        return 'alive'
      default:
        return 'failed'
    }
  }
}
