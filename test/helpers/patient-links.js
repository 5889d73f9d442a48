/**
 * Loaded before a program (`node --import`): its workers wait for each other's answers however long they take. Without this, where
 * a machine stands still for some seconds, a session is served where it came in, beside the worker that has its mailbox.
 */
import { Link } from '../../src/cluster/link.js'

const PATIENCE_MS = 3_600_000

const { ask } = Link.prototype
Link.prototype.ask = async function (question) {
  return await ask.call(this, question, { timeoutMs: PATIENCE_MS })
}
