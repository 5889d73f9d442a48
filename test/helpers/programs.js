/**
 * Mail programs that are installed on the machine, run against a server process. Their passwords go into files of the
 * scratch folder, never into an argument that everybody on the machine could read.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { everydayMessages, corpusIsMissing } from './corpus.js'
import { createAccounts, scratchFolder, startServerProcess } from './process.js'
import { WireClient } from './wire-client.js'

/** After so many ms a program that still waits for something is a failure, not a hang. */
const PATIENCE_MS = 240_000
export const PASSWORD = 'pass word "\\'

/**
 * For the `skip` option of a test.
 *
 * @param {string[]} programs
 * @returns {false | string} false when all are installed, else names one that is not
 */
export function missing(...programs) {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const has = (/** @type {string} */ program) =>
    folders.some((folder) => {
      try {
        accessSync(join(folder, program), constants.X_OK)
        return true
      } catch {
        return false
      }
    })
  const absent = programs.filter((program) => !has(program))
  return absent.length === 0 ? false : `not installed: ${absent.join(', ')}`
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, environment?: Record<string, string>, input?: string }} [options]
 * @returns {Promise<{ code: number | null, output: string }>} standard output and error together
 */
export async function run(command, args, { cwd, environment = {}, input = '' } = {}) {
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...environment },
    timeout: PATIENCE_MS
  })
  /** @type {Buffer[]} */
  const chunks = []
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  child.stderr.on('data', (chunk) => chunks.push(chunk))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { code, output: Buffer.concat(chunks).toString('latin1') }
}

/**
 * @typedef {object} MailServer
 * @property {string} scratch - a folder for the program's files
 * @property {string} certificate - file, PEM
 * @property {string} passwordFile
 * @property {import('./process.js').ServerProcess['ports']} ports
 * @property {import('./process.js').ServerProcess} server
 * @property {() => Promise<WireClient>} login - another client of the same account
 */

/**
 * A server with the account anna@example.org.
 *
 * @param {import('node:test').TestContext} t
 * @returns {Promise<MailServer>}
 */
export async function startMailServer(t) {
  const scratch = scratchFolder(t, 'client')
  const data = join(scratch, 'data')
  mkdirSync(data)
  await createAccounts(data, ['anna@example.org'], PASSWORD)
  const server = await startServerProcess(t, { data })
  const passwordFile = join(scratch, 'password')
  writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o600 })
  return {
    scratch,
    certificate: join(data, 'tls', 'certificate.pem'),
    passwordFile,
    ports: server.ports,
    server,
    login: async () => {
      const client = await WireClient.connect(server.ports.imaps, { isTls: true })
      await client.login('anna@example.org', `"${PASSWORD.replace(/["\\]/g, '\\$&')}"`)
      t.after(() => client.destroy())
      return client
    }
  }
}

/**
 * Writes a program's configuration where only we can read it.
 *
 * @param {string} path
 * @param {readonly string[]} lines
 * @returns {string} the path
 */
export function writeConfig(path, lines) {
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  return path
}

/**
 * @param {number} count
 * @returns {Buffer[]} real messages where the corpus is there, else made ones; CRLF line ends
 */
export function sampleMessages(count) {
  if (corpusIsMissing) return Array.from({ length: count }, (_, index) => madeMessage(index))
  const messages = []
  for (const { bytes } of everydayMessages({ every: Math.floor(4300 / count) })) {
    if (messages.length === count) break
    messages.push(bytes)
  }
  return messages
}

/**
 * @param {number | string} number
 * @returns {Buffer}
 */
export function madeMessage(number) {
  return Buffer.from(
    [
      'From: Ada <ada@example.net>',
      'To: anna@example.org',
      `Subject: number ${number}`,
      `Message-ID: <${number}@example.net>`,
      'Date: Mon, 2 Mar 2026 08:00:00 +0000',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      `Grüße ${number}`,
      ''
    ].join('\r\n')
  )
}

/**
 * What a mailbox holds, read by our own client.
 *
 * @param {WireClient} client
 * @param {string} mailbox
 * @returns {Promise<{ uid: number, flags: string[], bytes: Buffer }[]>} flags sorted, without \Recent
 */
export async function readMailbox(client, mailbox) {
  await client.command(`EXAMINE "${mailbox}"`)
  client.send('read UID FETCH 1:* (UID FLAGS BODY.PEEK[])\r\n')
  const messages = []
  for (;;) {
    const line = await client.line()
    if (line.startsWith('read ')) {
      if (!line.startsWith('read OK')) throw new Error(line)
      return messages
    }
    const found = /^\* \d+ FETCH \(UID (\d+) FLAGS \(([^)]*)\) BODY\[\] \{(\d+)\}\r\n$/.exec(line)
    if (found === null) continue
    const [, uid, flags = '', size] = found
    const bytes = await client.take(Number(size))
    await client.line()
    const names = flags.split(' ').filter((flag) => flag !== '' && flag !== '\\Recent')
    messages.push({ uid: Number(uid), flags: names.sort(), bytes })
  }
}

/** @param {string} path */
export const readText = (path) => readFileSync(path, 'latin1')
