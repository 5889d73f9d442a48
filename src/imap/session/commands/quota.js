/**
 * GETQUOTA and GETQUOTAROOT tell how much of its quota the account uses. There is one quota root, whose name is empty,
 * for all mailboxes, and none where nothing is limited. Quotas are set by the operator: there is no SETQUOTA.
 *
 * State: authenticated, selected.
 * Command: RFC 9208 §4.1.1, §4.1.2. Response: RFC 9208 §4.2; resources RFC 9208 §5.1 (STORAGE), §5.2 (MESSAGE).
 */
import { compileQuota, compileQuotaRoot } from '../../protocol/compile/quota.js'
import { CODE } from '../../protocol/compile/response-code.js'
import { AUTHENTICATED } from '../states.js'

/** @import { QuotaResource } from '../../protocol/compile/quota.js' */
/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** The account's quota root. */
const ROOT = ''

/** The unit of STORAGE, RFC 9208 §5.1. */
const STORAGE_UNIT_BYTES = 1024

/** @type {Command} */
export const getQuota = {
  name: 'GETQUOTA',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ root: string }} */ { root }) {
    const resources = root === ROOT ? await readResources(session) : []
    if (resources.length === 0) {
      return { status: 'NO', code: CODE.nonExistent, text: 'No such quota root' }
    }
    session.write(compileQuota(ROOT, resources))
    return { text: 'GETQUOTA completed' }
  }
}

/** @type {Command} */
export const getQuotaRoot = {
  name: 'GETQUOTAROOT',
  states: AUTHENTICATED,
  allowsExpunge: true,
  // The mailbox need not exist: a client may ask before it makes one (RFC 9208 §4.1.2).
  async run(session, /** @type {{ mailbox: string }} */ { mailbox }) {
    const resources = await readResources(session)
    const roots = resources.length === 0 ? [] : [ROOT]
    session.write(compileQuotaRoot(mailbox, roots, { isUtf8: session.enabled.isUtf8 }))
    for (const root of roots) session.write(compileQuota(root, resources))
    return { text: 'GETQUOTAROOT completed' }
  }
}

/**
 * @param {Session} session
 * @returns {Promise<QuotaResource[]>} those that are limited
 */
async function readResources({ store }) {
  const { quota } = store
  const used = await store.usage()
  /** @type {QuotaResource[]} */
  const resources = []
  if (quota.bytes !== null) {
    resources.push({
      name: 'STORAGE',
      used: Math.ceil(used.bytes / STORAGE_UNIT_BYTES),
      limit: Math.floor(quota.bytes / STORAGE_UNIT_BYTES)
    })
  }
  if (quota.messages !== null) {
    resources.push({ name: 'MESSAGE', used: used.messages, limit: quota.messages })
  }
  return resources
}
