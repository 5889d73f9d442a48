/**
 * The admin interface over a real server's parts: directory, mailboxes, IMAP sessions.
 */
import { createApiToken } from '../../src/accounts/api-tokens.js'
import { provisionAccount } from '../../src/accounts/provision.js'
import { createAdmin } from '../../src/admin/create.js'
import { systemResources } from '../../src/maintenance/resources.js'
import { MaintenanceWorker } from '../../src/maintenance/worker.js'
import { certificateIn } from './certificate.js'
import { PASSWORD, startImapServer } from './server.js'

/**
 * @typedef {import('../../src/accounts/directory-port.js').ApiScope} ApiScope
 *
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} body - parsed where it is JSON
 * @property {string} text
 * @property {Record<string, any>} headers
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {{ users?: string[], settings?: Record<string, unknown> }} [options]
 */
export async function startAdmin(t, { users = [], settings = {} } = {}) {
  const server = await startImapServer(t, { users, settings })
  const { services, imap, openAccounts, data } = server
  const state = { isReady: true }
  const maintenance = new MaintenanceWorker({ services, resources: systemResources })
  const certificate = await certificateIn(data)
  const admin = await createAdmin({
    services,
    imap,
    openAccounts,
    maintenance,
    certificates: { main: certificate, others: [] },
    pressure: { figures: { refusing: 0, refused: 0 } },
    isReady: () => state.isReady
  })
  t.after(async () => {
    await admin.close()
    await maintenance.close()
  })
  const token = async (
    /** @type {ApiScope[]} */ scopes,
    /** @type {string | null} */ tenant = null
  ) => {
    const made = await createApiToken({
      services,
      label: 'test',
      scopes,
      tenant,
      expiresAtMs: null
    })
    return made.text
  }
  const addAccount = async (/** @type {string} */ address, /** @type {string} */ tenant = '') => {
    const { account, masterKey } = await provisionAccount({
      services,
      address,
      password: Buffer.from(PASSWORD),
      ...(tenant !== '' && { tenant })
    })
    masterKey.dispose()
    return account
  }
  /**
   * @param {string} method
   * @param {string} url
   * @param {{ token?: string, body?: unknown, headers?: Record<string, string>, remoteAddress?: string }} [more]
   * @returns {Promise<Answer>}
   */
  const ask = async (method, url, { token: bearer, body, headers = {}, remoteAddress } = {}) => {
    const reply = await admin.app.inject({
      method: /** @type {'GET'} */ (method),
      url,
      headers: { ...headers, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
      ...(body !== undefined && { payload: /** @type {any} */ (body) }),
      ...(remoteAddress !== undefined && { remoteAddress })
    })
    const isJson = method !== 'HEAD' && String(reply.headers['content-type'] ?? '').includes('json')
    return {
      status: reply.statusCode,
      body: isJson ? JSON.parse(reply.payload) : null,
      text: reply.payload,
      headers: reply.headers
    }
  }
  return { ...server, admin, state, token, addAccount, ask }
}

/**
 * Every operation of the OpenAPI document.
 *
 * @param {any} document
 * @returns {{ method: string, path: string, operation: any }[]}
 */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Record<string, any>} */ (methods)).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation
    }))
  )
}
