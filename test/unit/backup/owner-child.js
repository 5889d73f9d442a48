/**
 * What owner-client.test.js has a process do: answers backups until its input ends.
 *
 *     owner-child.js <run folder>
 */
import { writeSync } from 'node:fs'
import { listenForBackups } from '../../../src/backup/owner-listener.js'
import { createLogger } from '../../../src/telemetry/logger.js'

const owner = await listenForBackups({
  runFolder: process.argv[2] ?? '',
  findStore: async () => null,
  closeMailbox: async () => {},
  ring: () => {},
  logger: createLogger({ level: 'silent' })
})
writeSync(1, 'ready\n')
process.stdin.resume().on('end', () => owner.close())
