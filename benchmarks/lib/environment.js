/**
 * The environment in which figures were measured: without it they mean nothing.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'

/** @typedef {Record<string, string>} Environment */

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** Is run by the contenders' Node, and prints the versions of the libraries that they measure. */
const VERSIONS_SCRIPT = `
const plain = require('better-sqlite3'), ciphers = require('better-sqlite3-multiple-ciphers')
const ask = (Database, sql) => { const db = new Database(':memory:'); try { return db.prepare(sql).pluck().get() } finally { db.close() } }
console.log(JSON.stringify({
  node: process.version + ', V8 ' + process.versions.v8,
  'better-sqlite3': require('better-sqlite3/package.json').version + ', SQLite ' + ask(plain, 'select sqlite_version()'),
  'better-sqlite3-multiple-ciphers': require('better-sqlite3-multiple-ciphers/package.json').version
    + ', SQLite ' + ask(ciphers, 'select sqlite_version()') + ', ' + ask(ciphers, 'select sqlite3mc_version()')
}))`

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {string} what the command prints; empty if it cannot be run
 */
function outputOf(command, args) {
  try {
    const stdio = /** @type {const} */ (['ignore', 'pipe', 'ignore'])
    return execFileSync(command, args, { cwd: PROJECT, encoding: 'utf8', stdio: [...stdio] }).trim()
  } catch {
    // The command is not installed, or this is no git checkout: the report then lacks that line.
    return ''
  }
}

/** @returns {string} 1, 5 and 15 minutes */
export const loadAverage = () =>
  loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')

/**
 * @param {string} execPath - the contenders' Node
 * @param {string} scratch - where they write
 * @returns {Environment}
 */
export function readEnvironment(execPath, scratch) {
  const processors = cpus()
  const { version } = JSON.parse(readFileSync(`${PROJECT}/package.json`, 'utf8'))
  const commit = outputOf('git', ['rev-parse', '--short=12', 'HEAD'])
  const isDirty = outputOf('git', ['status', '--porcelain', '--', 'src', 'migrations']) !== ''
  return {
    date: new Date().toISOString(),
    'load average at start': loadAverage(),
    processor: `${processors.length} × ${processors[0]?.model ?? arch()}`,
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    system: `${type()} ${release()}`,
    disk: outputOf('df', ['--output=source,fstype', scratch]).split('\n').at(-1) ?? '',
    letterlock: `${version}, commit ${commit}${isDirty ? ' with uncommitted changes in src' : ''}`,
    .../** @type {Environment} */ (JSON.parse(outputOf(execPath, ['-e', VERSIONS_SCRIPT])))
  }
}
