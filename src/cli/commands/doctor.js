/**
 * `letterlock doctor`: looks at the machine, the configuration and the data folder, and says what to do about what it finds.
 */
import { networkInterfaces } from 'node:os'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { requireNoMailboxes } from '../../accounts/stranded-mailboxes.js'
import { errorCodeOf, toMailError } from '../../database/sqlite-error.js'
import { MailError, isMailError } from '../../errors.js'
import { CliError } from '../cli-error.js'
import { becomeOwner } from '../data-folder.js'
import { checkBackups } from '../doctor/backups.js'
import { clientSettings } from '../../discovery/client-settings.js'
import { dnsLines, publicAddresses } from '../doctor/dns.js'
import { checkDirectory, directoryDamaged } from '../doctor/directory.js'
import { bad, good } from '../doctor/finding.js'
import { checkClock, checkDisks, checkLimits } from '../doctor/machine.js'
import { checkCertificates, checkPorts } from '../doctor/network.js'
import { checkMailboxes } from '../doctor/mailboxes.js'
import { checkPepper } from '../doctor/pepper.js'
import { checkPermissions } from '../doctor/permissions.js'
import { explainRefusedFile } from '../file-refused.js'
import { parseDomain, withAccounts } from '../with-accounts.js'

/**
 * @typedef {import('../with-accounts.js').CommandContext} CommandContext
 * @typedef {import('../index.js').CommonOptions} CommonOptions
 * @typedef {CommonOptions & { dns?: boolean | string, host?: string, json?: boolean }} DoctorOptions
 * @typedef {import('../doctor/finding.js').Finding} Finding
 */

const SOME_FAIL = 1

/**
 * @param {import('commander').Command} program
 * @param {CommandContext} context
 */
export function register(program, context) {
  program
    .command('doctor')
    .description(
      'Check ports, certificate, disks, clock, permissions, limits, directory, mailboxes and backups'
    )
    .option('--dns [domain]', 'print the DNS lines of all domains instead, or of this one')
    .option('--host <name>', 'with --dns: this host’s public name')
    .option('--json', 'one JSON object a line')
    .addHelpText(
      'after',
      '\nExit code: 0 nothing fails, 1 something does.\n\nExamples:\n  letterlock doctor --data /var/lib/letterlock\n  letterlock doctor --dns --host mail.example.org'
    )
    .action(async (/** @type {DoctorOptions} */ options) => {
      if (options.dns) await printDns(context, options)
      else process.exitCode = await examine(context, options)
    })
}

/**
 * @param {CommandContext} context
 * @param {DoctorOptions} options
 */
async function printDns(context, options) {
  await withAccounts(context, options, async ({ services, print }) => {
    const { config, directory } = services
    const known = (await directory.listDomains()).map(({ name }) => name)
    const all = known.length > 0 ? known : [config.defaultDomain]
    // `localhost` is the domain of a first start on one's own machine, and in no zone.
    const isPublic = (/** @type {string} */ name) => !/(^|\.)localhost$/.test(name)
    const domains =
      typeof options.dns === 'string' ? [parseDomain(options.dns)] : all.filter(isPublic)
    if (domains.length === 0)
      throw new CliError('There is no domain but localhost. Name one: --dns example.org')
    const settings = clientSettings(
      config,
      options.host === undefined ? {} : { host: options.host }
    )
    const lines = dnsLines({
      domains,
      settings,
      hasDiscovery: config.discovery.listen !== 'off',
      addresses: publicAddresses(networkInterfaces())
    })
    for (const line of lines) print(line)
  })
}

/**
 * @param {CommandContext} context
 * @param {DoctorOptions} options
 * @returns {Promise<number>} the exit code
 */
async function examine(context, options) {
  const { stdout, clock } = context
  const config = context.loadConfig(options)
  const nowMs = clock.nowMs()
  const ports = await checkPorts(config)
  const machine = [
    ...(await checkDisks(config)),
    await checkClock(config, nowMs),
    ...(await checkPermissions(config)),
    ...(await checkLimits(config))
  ]
  // What follows is looked at as the server's user: what root can read says nothing about what the server can.
  becomeOwner(config.data)
  const certificates = await checkCertificates(config, nowMs)
  const data = await dataFindings(context, options)
  const findings = [...ports, ...certificates, ...machine, ...data]
  for (const finding of findings) {
    if (options.json) stdout.write(`${JSON.stringify(finding)}\n`)
    else {
      const { name, status, text, advice } = finding
      stdout.write(`${status.padEnd(5)} ${name}: ${text}\n`)
      if (advice !== undefined) stdout.write(`      → ${advice}\n`)
    }
  }
  return findings.some(({ status }) => status === 'fail') ? SOME_FAIL : 0
}

/**
 * Findings for which the directory is opened; where there is none yet, this makes none.
 *
 * @param {CommandContext} context
 * @param {DoctorOptions} options
 * @returns {Promise<Finding[]>}
 */
async function dataFindings(context, options) {
  const { data } = context.loadConfig(options)
  try {
    await stat(join(data, 'directory.db'))
  } catch (error) {
    const code = errorCodeOf(error)
    if (code === 'ELOOP') return [unusable(error)]
    if (code !== 'ENOENT')
      return [
        bad('data', `${data} cannot be looked at (${code})`, 'Run this as its owner, or as root')
      ]
    return [withoutDirectory(data)]
  }
  try {
    return await withAccounts(context, options, async ({ services }) => {
      const { findings, isReadable } = await checkDirectory({ services })
      if (!isReadable) return findings
      return [
        ...findings,
        ...(await checkPepper({ services })),
        ...(await checkMailboxes({ services })),
        await checkBackups({ services })
      ]
    })
  } catch (cause) {
    // No mailbox is opened here, so that ACCOUNT_DAMAGED is about the directory, too.
    const error = toMailError(cause)
    if (isMailError(error, 'ACCOUNT_DAMAGED') || isMailError(error, 'DIRECTORY_DAMAGED'))
      return [directoryDamaged(error.detail ?? error.message)]
    if (explainRefusedFile(error) !== null) return [unusable(error)]
    if (!(error instanceof MailError)) throw cause
    return [wouldNotStart(error)]
  }
}

/**
 * @param {string} data - in which there is no directory.db
 * @returns {Finding}
 */
function withoutDirectory(data) {
  try {
    requireNoMailboxes(data)
  } catch (error) {
    if (error instanceof MailError) return wouldNotStart(error)
    if (explainRefusedFile(error) === null) throw error
    return unusable(error)
  }
  return good('data', `${data} is new: the first start fills it`)
}

/** @param {MailError} error */
const wouldNotStart = ({ message, detail, code }) =>
  bad('data', `The server would not start: ${message}`, detail ?? code)

/**
 * @param {unknown} error - about a file of the data folder that the system does not let this user open
 * @returns {Finding}
 */
const unusable = (error) =>
  bad(
    'data',
    explainRefusedFile(error) ?? String(error),
    errorCodeOf(error) === 'ELOOP'
      ? 'Put back what belongs there'
      : 'The server needs each of its files to be its own'
  )
