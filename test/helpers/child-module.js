/**
 * What child.test.js has its processes do.
 */
import { writeFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { MailError } from '../../src/errors.js'
import { toThreadFailure } from '../../src/database/thread.js'

const { kind, value, key } = workerData
switch (kind) {
  case 'echo': {
    const hex = Buffer.from(new Uint8Array(key)).toString('hex')
    parentPort?.postMessage({ kind: 'progress', value: 'not for the parent' })
    parentPort?.postMessage({ kind: 'done', value: { value, key: hex } })
    break
  }
  case 'fail': {
    const failure = toThreadFailure(new MailError('DISK_FULL', { detail: 'so it is' }))
    parentPort?.postMessage({ kind: 'failed', failure })
    break
  }
  case 'break':
    throw new Error('broken on purpose')
  case 'hang':
    if (value !== undefined) writeFileSync(value, '')
    for (;;);
}
