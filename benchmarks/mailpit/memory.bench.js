/**
 * How much memory does a mailbox of 100,000 take, and how busy is the program when nothing happens?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openSession, serverOf } from '../imap/session.js'
import { PLANTS } from '../lib/mail.js'
import { now } from '../lib/question.js'
import { memoryOf, processorSeconds } from '../lib/process-tree.js'
import { isPlain, mailpitContenders, openPlain } from './set-up.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'memory',
  title: 'Memory and idle processor time',
  notes:
    'The whole process (PSS) with the mailbox open, after its index was listed and one search; then what it works in ten seconds (quick: one) in which nobody asks anything. The plain contender’s process is the benchmark’s own.',
  warmUp: 'what the questions before have left in the server’s memory',
  lines: [
    {
      id: 'memory',
      label: 'memory of the process',
      unit: 'bytes',
      better: 'lower',
      reference: 'key-value store 400 to 2,500 MB, SQLite 8 to 20 MB (a Go program)'
    },
    {
      id: 'idle',
      label: 'idle processor time, share of one core',
      unit: 'ratio',
      better: 'lower',
      reference: 'key-value store 2 to 3 %, SQLite 0 %'
    }
  ],
  contenders: mailpitContenders,
  rounds: () => 1,
  async measure(run) {
    const { close, pid } = await busyContender(run)
    globalThis.gc?.()
    await sleep(500)
    const memory = memoryOf(pid)
    const worked = processorSeconds(pid)
    const start = now()
    await sleep(run.options.isQuick ? 1000 : 10_000)
    const idle = (processorSeconds(pid) - worked) / ((now() - start) / 1000)
    close()
    return { samples: { memory: [memory], idle: [idle] } }
  }
}

/** @param {import('../lib/question.js').Run} run */
async function busyContender(run) {
  if (isPlain(run)) {
    const mailbox = openPlain(run)
    mailbox.newest(50)
    mailbox.search([PLANTS.rare.text], run.options.messages)
    return { pid: process.pid, close: () => mailbox.close() }
  }
  const client = await openSession(run)
  await client.run('FETCH *:1 (FLAGS)')
  await client.run(`UID SEARCH TEXT ${PLANTS.rare.text}`)
  return { pid: serverOf(run).pid, close: () => client.close() }
}
