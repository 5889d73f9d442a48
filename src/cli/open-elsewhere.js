/**
 * Work that needs a mailbox alone, and finds it open.
 */
import { isOpenElsewhere } from '../database/lock.js'

const WORDS = 'The mailbox is open: end its sessions, or stop the server, and try again in a minute'

/**
 * @param {unknown} error - of such work
 * @returns {string | null} what to do; null where the error is another one
 */
export const explainOpenElsewhere = (error) => (isOpenElsewhere(error) ? WORDS : null)
