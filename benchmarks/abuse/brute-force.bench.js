/**
 * Does guessing from one address slow the logins of others?
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { createUsers, startLetterlock } from '../lib/letterlock-server.js'
import { now, require, requireEqual } from '../lib/question.js'

const ATTACKER = fileURLToPath(new URL('attacker.js', import.meta.url))
/** Neither is exempt, as 127.0.0.1 is. */
const ATTACKER_ADDRESS = '127.0.0.2'
const HEALTHY_ADDRESS = '127.0.0.3'
const CONNECTIONS = 400

/**
 * @param {boolean} isQuick
 * @returns {{ logins: number, pauseMs: number, guesses: number, connections: number }} healthy logins in each half of a pair,
 *   and the pause before each: as many as fit into the time that the guesses take
 */
const amountsOf = (isQuick) =>
  isQuick
    ? { logins: 3, pauseMs: 50, guesses: 1000, connections: CONNECTIONS }
    : { logins: 30, pauseMs: 1000, guesses: 10_000, connections: CONNECTIONS }

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'brute-force',
  title: 'LOGIN of a healthy user while somebody guesses passwords',
  notes:
    'One process. In pairs on the same server: users who are not there yet log in over TLS, one after the other with a pause, from one address; then the same with others while another address gives wrong logins over many TLS connections, each with another password, half of them on a name that exists; how many of each stands below with the settings. Samples are healthy logins, from the first byte of the connection to the tagged OK. Checked: every healthy login is OK, no wrong one is, and the guessing goes on until the healthy logins are through.',
  warmUp: 'one healthy login before the first pair',
  lines: [
    { id: 'quiet', label: 'connect and LOGIN, nobody guesses', unit: 'ms', better: 'lower' },
    { id: 'guessing', label: 'connect and LOGIN, somebody guesses', unit: 'ms', better: 'lower' },
    {
      id: 'ratio',
      label: 'median of the second half by that of the first',
      unit: 'ratio',
      better: 'lower'
    }
  ],
  contenders: ({ isQuick }) => [
    { id: 'letterlock', label: 'Letterlock', isPeer: true, settings: amountsOf(isQuick) }
  ],
  rounds: () => 1,
  async measure(run) {
    const { isQuick, rounds } = run.options
    const { logins, pauseMs, guesses } = amountsOf(isQuick)
    const data = join(run.folder, 'data')
    mkdirSync(run.folder, { recursive: true })
    await createUsers(data, 1 + 2 * logins * rounds)
    const server = await startLetterlock(data, join(run.folder, 'server.log'))
    /** @type {Record<'quiet' | 'guessing' | 'ratio', number[]>} */
    const samples = { quiet: [], guessing: [], ratio: [] }
    const facts = { guesses: 0, 'of these checked': 0, 'of these refused unchecked': 0 }
    try {
      let user = 1
      const next = () => logIn(server.ports.imaps, `u${user++}`, pauseMs)
      await next()
      for (let pair = 0; pair < rounds; pair++) {
        const quiet = []
        for (let n = 0; n < logins; n++) quiet.push(await next())
        const attack = startAttack(server.ports.imaps, guesses)
        const guessing = []
        for (let n = 0; n < logins; n++) {
          guessing.push(await next())
        }
        const wasGoingOn = !attack.isOver()
        const answers = await attack.done
        require(isQuick || wasGoingOn, 'the guessing ended before the healthy logins')
        facts.guesses += answers.refused + answers.throttled + answers.lost
        facts['of these checked'] += answers.refused
        facts['of these refused unchecked'] += answers.throttled
        samples.quiet.push(...quiet)
        samples.guessing.push(...guessing)
        samples.ratio.push(median(guessing) / median(quiet))
        run.progress(pair + 1, rounds)
      }
      return { samples, facts }
    } finally {
      await server.stop()
    }
  }
}

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/**
 * @param {number} port
 * @param {number} attempts
 */
function startAttack(port, attempts) {
  const args = [port, ATTACKER_ADDRESS, attempts, CONNECTIONS].map(String)
  const child = spawn(process.execPath, [ATTACKER, ...args], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let output = ''
  let isOver = false
  child.stdout.on('data', (chunk) => (output += chunk))
  const done = once(child, 'close').then(([code]) => {
    isOver = true
    requireEqual(code, 0, 'exit code of the attacker')
    return /** @type {{ refused: number, throttled: number, lost: number }} */ (JSON.parse(output))
  })
  return { done, isOver: () => isOver }
}

/**
 * @param {number} port
 * @param {string} user
 * @param {number} pauseMs - before
 * @returns {Promise<number>} milliseconds
 */
async function logIn(port, user, pauseMs) {
  await sleep(pauseMs)
  const start = now()
  const plain = connect({ host: '127.0.0.1', port, localAddress: HEALTHY_ADDRESS })
  const socket = connectTls({ socket: plain, rejectUnauthorized: false })
  let text = ''
  await new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`${user}: closed after ${text}`)))
    socket.on('data', (chunk) => {
      text += chunk
      if (/^a \w+.*\r\n/m.test(text)) resolve(undefined)
    })
    socket.write(`a LOGIN ${user} pass\r\n`)
  })
  const ms = now() - start
  socket.destroy()
  require(/^a OK/m.test(text), `${user}: ${text}`)
  return ms
}
