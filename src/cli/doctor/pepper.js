/**
 * Whether passwords find the pepper that they need.
 */
import { doubtful } from './finding.js'

/** @import { Finding } from './finding.js' */

const NAME = 'pepper'
const DOCUMENTED = '(docs/operations.md, “The pepper is lost”)'

/**
 * @param {object} input
 * @param {Pick<import('../../accounts/services.js').AccountServices, 'config' | 'directory' | 'pepper'>} input.services
 * @returns {Promise<Finding[]>} nothing where there is nothing to say
 */
export async function checkPepper({ services: { config, directory, pepper } }) {
  const { isPepperLost, pepperFile } = config.auth
  const ids = await directory.listPepperIds()
  const findings = []
  if (ids.some((id) => id !== pepper.id)) {
    findings.push(
      doubtful(
        NAME,
        `There are passwords that need another pepper than ${pepperFile} holds: they open nothing`,
        `Whose they are sets a new one with the recovery code ${DOCUMENTED}`
      )
    )
  }
  if (isPepperLost && (ids.length === 0 || ids.includes(pepper.id))) {
    findings.push(
      doubtful(
        NAME,
        'auth.isPepperLost is set: where the pepper is not mounted once, another one is made',
        `Take it away: the server starts without it ${DOCUMENTED}`
      )
    )
  }
  return findings
}
