/**
 * A real logger whose lines a test can read.
 */
import { createLogger } from '../../src/telemetry/logger.js'

/**
 * @returns {{ logger: import('../../src/telemetry/logger.js').Logger, lines: Record<string, unknown>[] }}
 */
export function recordingLogger() {
  /** @type {Record<string, unknown>[]} */
  const lines = []
  const stream = { write: (/** @type {string} */ line) => lines.push(JSON.parse(line)) }
  return { logger: createLogger({ level: 'debug', stream }), lines }
}
