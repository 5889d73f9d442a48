/**
 * What every implementation of the directory must keep, whatever engine is below it: a second one passes these tests
 * before it serves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountsContract } from './accounts.js'
import { keysContract } from './keys.js'
import { lateWritesContract } from './late-writes.js'
import { nodeContract } from './node.js'
import { tenantsContract } from './tenants.js'

/**
 * @typedef {import('../../../../src/accounts/directory-port.js').DirectoryPort} DirectoryPort
 *
 * @typedef {object} Opened - a fresh, empty directory, closed and removed after the test; `example.org` is the domain of
 *   names without one
 * @property {DirectoryPort} directory
 * @property {(options?: { audit?: { days: number, maxEvents: number, deletionDays?: number } }) => DirectoryPort} open - the same directory once
 *   more, as another process would; the test closes it
 * @property {import('../../../helpers/manual-clock.js').ManualClock} clock - of all of them
 * @property {string} data - the data folder that mailboxes lie in; none is there
 *
 * @typedef {object} ContractOptions
 * @property {string} name - of the implementation
 * @property {(t: import('node:test').TestContext) => Promise<Opened>} setUp
 */

/**
 * @param {string} name - of the implementation
 * @param {ContractOptions['setUp']} openDirectory
 */
export function directoryContract(name, openDirectory) {
  /** @type {Set<string>} */
  const offered = new Set()
  /** @type {Set<string>} */
  const asked = new Set()
  const watched = (/** @type {DirectoryPort} */ directory) =>
    new Proxy(directory, {
      get(target, property) {
        asked.add(String(property))
        return Reflect.get(target, property)
      }
    })
  /** @type {ContractOptions['setUp']} */
  const setUp = async (t) => {
    const opened = await openDirectory(t)
    for (const method of Object.keys(opened.directory)) offered.add(method)
    return {
      ...opened,
      directory: watched(opened.directory),
      open: (options) => watched(opened.open(options))
    }
  }

  const options = { name, setUp }
  accountsContract(options)
  keysContract(options)
  tenantsContract(options)
  lateWritesContract(options)
  nodeContract(options)

  test(`${name}: these tests have asked everything that can be asked`, () => {
    assert.deepEqual(
      [...offered].filter((method) => !asked.has(method)),
      []
    )
  })
}
