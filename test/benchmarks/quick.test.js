/**
 * The benchmark suite itself: a quick run goes through and leaves a complete report. Figures are not looked at.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { question } from '../../benchmarks/abuse/brute-force.bench.js'
import { reportFolder, writeReport } from '../../benchmarks/lib/report.js'
import { scratchFolder } from '../helpers/process.js'

const RUN = fileURLToPath(new URL('../../benchmarks/run.js', import.meta.url))

const NO_OTHERS = { withDovecot: false, withDovecotCrypt: false, withAegis: false }

/** Each part with the contenders that are enough to see it work, and the questions that its report must have. */
const PARTS = {
  sqlite: { peers: ['production', 'plain'], questions: ['published', 'corrected', 'open'] },
  log: { peers: ['plain'], questions: ['append', 'read', 'size'] }
}

/**
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, stderr: string }>}
 */
async function benchmark(args) {
  const child = spawn(process.execPath, [RUN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  return { code, stderr }
}

test('a quick run of sqlite and log writes JSON, Markdown and charts that say how they came about', async (t) => {
  const output = scratchFolder(t, 'benchmark')
  const contenders = ['production', 'plain', 'letterlock', 'letterlock-settled', 'own-block']
  const { code, stderr } = await benchmark([
    ...['sqlite', 'log', '--quick', '--messages', '300', '--output', output],
    ...['--scratch', output, '--contenders', ...contenders],
    ...['--only', ...Object.values(PARTS).flatMap(({ questions }) => questions)]
  ])
  assert.equal(code, 0, stderr)

  for (const [part, { peers, questions }] of Object.entries(PARTS)) {
    await t.test(part, () => {
      const markdown = readFileSync(join(output, `${part}.md`), 'utf8')
      const report = JSON.parse(readFileSync(join(output, `${part}.json`), 'utf8'))
      assert.equal(report.part, part)
      assert.equal(report.options.isQuick, true)
      assert.match(markdown, /its figures mean nothing/)
      assert.equal(markdown.includes(output), false, 'no folder of this machine')
      assert.equal(JSON.stringify(report).includes(output), false, 'no folder of this machine')
      for (const name of ['date', 'processor', 'node', 'better-sqlite3-multiple-ciphers']) {
        assert.ok(report.environment[name], `the environment has ${name}`)
        assert.ok(markdown.includes(report.environment[name]))
      }
      assert.match(report.environment['load average at start'], /^\d+\.\d\d \d+\.\d\d \d+\.\d\d$/)
      assert.deepEqual(
        report.questions.map((/** @type {{ id: string }} */ { id }) => id),
        questions
      )
      assert.equal(report.environment['broken off'], undefined)
      for (const question of report.questions) checkQuestion(question, { output, part, peers })
    })
  }
})

/**
 * @param {import('../../benchmarks/lib/run-question.js').QuestionResult} question
 * @param {{ output: string, part: string, peers: string[] }} facts
 */
function checkQuestion(question, { output, part, peers }) {
  const picture = join(output, `${part}-${question.id}.svg`)
  assert.ok(existsSync(picture))
  const svg = readFileSync(picture, 'utf8')
  assert.match(svg, /^<svg /)
  const peer = question.contenders.find(({ isPeer }) => isPeer)
  assert.ok(peer && peers.includes(peer.id), `${question.id} has a peer`)
  assert.ok(question.warmUp)
  for (const { label, settings } of question.contenders) {
    assert.ok(Object.keys(settings).length > 0, `${label} has its settings`)
    assert.ok(svg.includes(label), `${label} is in the picture`)
  }
  for (const line of question.lines) {
    const results = question.results.filter((result) => result.line === line.id)
    assert.ok(results.length > 0, `${question.id}: ${line.id} was measured`)
    for (const { summary, ratio, contender } of results) {
      const { median, p99, count, minimum, maximum } = summary
      assert.ok(count > 0 && minimum <= median && median <= maximum && p99 <= maximum)
      if (contender === peer.id) assert.ok(ratio === 1 || ratio === null)
    }
  }
}

test('of a run that is broken off what has been measured stays, and nothing else', async (t) => {
  const output = scratchFolder(t, 'benchmark')
  const args = ['log', '--quick', '--messages', '300', '--only', 'append', 'read']
  const child = spawn(
    process.execPath,
    [RUN, ...args, '--contenders', 'plain', '--output', output, '--scratch', output],
    { stdio: ['ignore', 'ignore', 'pipe'] }
  )
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    if (/^read 1\//m.test(stderr)) child.kill('SIGTERM')
  })
  const [code] = await once(child, 'close')
  assert.equal(code, 1, stderr)
  const report = JSON.parse(readFileSync(join(output, 'log.json'), 'utf8'))
  assert.deepEqual(
    report.questions.map((/** @type {{ id: string }} */ { id }) => id),
    ['append']
  )
  assert.equal(report.environment['broken off'], 'after 1 of 2 questions')
  assert.deepEqual(readdirSync(output).sort(), ['log-append.svg', 'log.json', 'log.md'])
})

test('figures of a quick run take the place of none that were published', () => {
  const [quick, full] = [reportFolder(true), reportFolder(false)]
  assert.notEqual(quick, full)
  assert.ok(existsSync(join(full, 'abuse.md')))
  const ignored = readFileSync(new URL('../../.gitignore', import.meta.url), 'utf8').split('\n')
  assert.ok(ignored.includes(`benchmarks/${basename(quick)}/`))
})

test('a report has the amounts of its own run, and no empty settings', async (t) => {
  const output = scratchFolder(t, 'benchmark')
  const options = { messages: 1, users: 1, seed: 1, rounds: 1, isQuick: true }
  const contenders = question.contenders({ ...options, ...NO_OTHERS }, {})
  const asked = { ...question, contenders: contenders.map((one) => ({ ...one, facts: {} })) }
  const result = {
    part: 'abuse',
    title: 'Abuse',
    command: 'npm run benchmark -- abuse --quick',
    options: { ...options, ...NO_OTHERS },
    environment: {},
    questions: [{ ...asked, rounds: 1, results: [] }]
  }
  const report = await writeReport(/** @type {any} */ (result), output)
  const markdown = readFileSync(report, 'utf8')
  assert.match(markdown, /^- Letterlock: `logins=3 pauseMs=50 guesses=1000 connections=400`$/m)
  assert.doesNotMatch(markdown, /10,000/)
  for (const one of asked.contenders) one.settings = {}
  await writeReport(/** @type {any} */ (result), output)
  assert.match(readFileSync(report, 'utf8'), /^- Letterlock: as delivered$/m)
})

test('an unknown part, and a Node for a part that has none, end with a message', async () => {
  const unknown = await benchmark(['nonsense'])
  assert.notEqual(unknown.code, 0)
  assert.match(unknown.stderr, /unknown part: nonsense/)
  const other = await benchmark(['log', '--node', '22'])
  assert.notEqual(other.code, 0)
  assert.match(other.stderr, /log runs under the pinned Node alone/)
})
