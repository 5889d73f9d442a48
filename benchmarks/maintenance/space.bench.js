/**
 * A user deletes all mail. When does the file system get the room back, and what does the server need for it?
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../lib/process-tree.js'
import { now, require, requireEqual } from '../lib/question.js'
import { messageCount } from '../imap/session.js'
import { untilQuiet } from '../imap/set-up.js'
import { bytesOf, fillInbox, largestMailbox, startServer } from './one-server.js'

/** Bytes of mail for each of the messages that the run is asked for: 100,000 make 1 GB. */
const BYTES_PER_MESSAGE = 10_000

/** Time between two points of the curve, milliseconds. */
const POINT_MS = 500

/** It must be over by then, milliseconds. */
const MOST_MS = 10 * 60_000

/** What comes after the room is back belongs to the curve as well, milliseconds. */
const AFTER_MS = 5000

/** What counts as given back: this part of the file is left. */
const LEFT_PART = 0.05

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'space',
  title: 'Space and memory after everything was deleted',
  notes:
    'STORE 1:* \\Deleted and EXPUNGE of an INBOX with 10 kB for each of the messages asked for (100,000: 1 GB), default settings, nobody does anything else. Twice a second: size of mail.db and -wal, memory (PSS) of the server and its children; every 50 ms a NOOP of the same user, until 5 s after the room is back. Checked: no message is left, the file is back below a twentieth.',
  warmUp: 'the search index is complete, the server idle',
  lines: [
    { id: 'delete', label: 'until EXPUNGE is acknowledged', unit: 'ms', better: 'lower' },
    { id: 'returned', label: 'until the room is back', unit: 'ms', better: 'lower' },
    { id: 'memory', label: 'memory, most above the start', unit: 'bytes', better: 'lower' },
    { id: 'noop', label: 'NOOP, once EXPUNGE is acknowledged', unit: 'ms', better: 'lower' },
    { id: 'longest', label: 'longest of these', unit: 'ms', better: 'lower' }
  ],
  contenders: () => [{ id: 'letterlock', label: 'Letterlock', isPeer: true, settings: {} }],
  rounds: () => 1,
  async measure(run) {
    const bytes = run.options.messages * BYTES_PER_MESSAGE
    const settings = { LETTERLOCK_MAINTENANCE_QUIET_MS: run.options.isQuick ? '500' : '30000' }
    const { data, server, logIn } = await startServer(run, { users: 1, settings })
    try {
      const client = await logIn('u1')
      await fillInbox(client, { seed: run.options.seed, bytes }, (done) =>
        run.progress(done, bytes)
      )
      await client.run('SELECT INBOX')
      await untilQuiet(server.pid)
      const path = largestMailbox(data)
      const before = { bytes: bytesOf(path), memory: memoryOf(server.pid) }

      const observer = await logIn('u1')
      const start = now()
      const knock = { isOver: false }
      /** @type {{ ms: number, seconds: number }[]} */
      const noops = []
      const knocking = (async () => {
        while (!knock.isOver) {
          const seconds = (now() - start) / 1000
          noops.push({ ms: (await observer.run('NOOP')).ms, seconds })
          await sleep(50)
        }
      })()
      /** @type {{ seconds: number, bytes: number, memory: number }[]} */
      const curve = []
      let returnedMs = Number.NaN
      const watching = (async () => {
        let endMs = MOST_MS
        while (now() - start < endMs) {
          const point = { seconds: (now() - start) / 1000, bytes: bytesOf(path) }
          curve.push({ ...point, memory: memoryOf(server.pid) })
          if (Number.isNaN(returnedMs) && point.bytes < before.bytes * LEFT_PART) {
            returnedMs = now() - start
            endMs = returnedMs + AFTER_MS
          }
          await sleep(POINT_MS)
        }
      })()
      await client.run('STORE 1:* +FLAGS.SILENT (\\Deleted)')
      await client.run('EXPUNGE')
      const deleteMs = now() - start
      await watching
      knock.isOver = true
      await knocking
      require(!Number.isNaN(returnedMs), 'the room was not given back')
      requireEqual(await messageCount(client, 'INBOX'), 0, 'messages left')
      const most = Math.max(...curve.map(({ memory }) => memory))
      const later = noops.filter(({ seconds }) => 1000 * seconds > deleteMs)
      const longest = later.reduce((one, other) => (other.ms > one.ms ? other : one))
      return {
        samples: {
          delete: [deleteMs],
          returned: [returnedMs],
          memory: [most - before.memory],
          noop: later.map(({ ms }) => ms),
          longest: [longest.ms]
        },
        facts: {
          'file before': `${megabytes(before.bytes)} MB`,
          'memory before': `${megabytes(before.memory)} MB`,
          'longest NOOP': `${longest.seconds.toFixed(1)} s after STORE was sent`
        },
        curve: {
          x: 'seconds since STORE was sent',
          y: 'MB',
          series: [
            { label: 'file and -wal', points: pointsOf(curve, ({ bytes }) => bytes) },
            { label: 'memory', points: pointsOf(curve, ({ memory }) => memory) }
          ]
        }
      }
    } finally {
      await server.stop()
    }
  }
}

/** @param {number} bytes */
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)

/**
 * @typedef {{ seconds: number, bytes: number, memory: number }} Point
 *
 * @param {Point[]} curve
 * @param {(point: Point) => number} bytesOfPoint
 * @returns {[number, number][]} seconds and megabytes
 */
const pointsOf = (curve, bytesOfPoint) =>
  curve.map((point) => [
    Math.round(point.seconds * 10) / 10,
    Math.round(bytesOfPoint(point) / 1e5) / 10
  ])
