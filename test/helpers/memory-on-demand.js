/**
 * Loaded before a program (`node --import`): it is told that it has no memory in use until the file that
 * LETTERLOCK_TEST_FULL names is there.
 */
import { existsSync } from 'node:fs'

const { rss } = process.memoryUsage
process.memoryUsage.rss = () =>
  existsSync(String(process.env['LETTERLOCK_TEST_FULL'])) ? rss() : 0
