/**
 * Writes what was measured: `<part>.json` with every figure, `<part>.md` for people, one SVG for each question.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'prettier'
import { drawChart } from './chart.js'
import { drawCurve } from './curve.js'
import { formatNumber, formatSettings, formatValue } from './format.js'

/**
 * @typedef {import('./run-question.js').QuestionResult} QuestionResult
 *
 * @typedef {object} PartResult
 * @property {string} part
 * @property {string} title
 * @property {string} command - what was typed
 * @property {import('./question.js').RunOptions} options
 * @property {import('./environment.js').Environment} environment
 * @property {QuestionResult[]} questions
 */

/** A line with fewer samples has no 99th percentile; the largest is shown and marked. */
const P99_SAMPLES = 100

/**
 * @param {boolean} isQuick - its figures mean nothing, and must not take the place of any that were published
 * @returns {string} where reports go unless told
 */
export const reportFolder = (isQuick) =>
  fileURLToPath(new URL(isQuick ? '../results-quick' : '../results', import.meta.url))

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|')

const HEAD = ['contender', 'median', 'p99', 'rate', 'times as good']

/**
 * @param {QuestionResult} question
 * @param {QuestionResult['lines'][number]} line
 * @returns {string[]} lines of a table of its own; none if nobody has answered
 */
function tableOf(question, line) {
  const rows = question.results
    .filter((result) => result.line === line.id)
    .map(({ contender, summary, rate, ratio }) => {
      const { label, isPeer } = /** @type {QuestionResult['contenders'][number]} */ (
        question.contenders.find(({ id }) => id === contender)
      )
      const p99 = formatValue(summary.p99, line.unit)
      return [
        label,
        formatValue(summary.median, line.unit),
        summary.count >= P99_SAMPLES ? p99 : `${p99} (largest of ${summary.count})`,
        rate === undefined ? '' : `${formatNumber(rate)}/s`,
        isPeer ? 'peer' : ratio === null ? '' : `${formatNumber(ratio)} ×`
      ]
    })
  if (rows.length === 0) return []
  const table = [HEAD, HEAD.map(() => '---'), ...rows]
  return [
    `### ${line.label}`,
    '',
    ...(line.reference === undefined ? [] : [`Published elsewhere: ${line.reference}.`, '']),
    ...table.map((row) => `| ${row.map(cell).join(' | ')} |`),
    ''
  ]
}

/**
 * @param {QuestionResult} question
 * @param {string} picture - file name
 * @returns {string}
 */
function sectionOf(question, picture) {
  const contenders = question.contenders.map(({ label, settings, facts }) => {
    const told = formatSettings(facts)
    const set = formatSettings(settings)
    return `- ${label}: ${set ? `\`${set}\`` : 'as delivered'}${told ? `; ${told}` : ''}`
  })
  return [
    `## ${question.title}`,
    '',
    `${question.notes} Rounds: ${question.rounds}, interleaved. Warm-up: ${question.warmUp}`,
    '',
    `![${question.title}](${picture})`,
    '',
    ...question.contenders.flatMap((contender) =>
      contender.curve ? [`![${contender.label}](${curvePicture(picture, contender.id)})`, ''] : []
    ),
    ...question.lines.flatMap((line) => tableOf(question, line)),
    'Settings:',
    '',
    ...contenders,
    ''
  ].join('\n')
}

/**
 * @param {string} picture - file name of the question's
 * @param {string} contender - its id
 * @returns {string} file name of the curve's
 */
const curvePicture = (picture, contender) => picture.replace(/\.svg$/, `-${contender}-curve.svg`)

/**
 * @param {PartResult} result
 * @returns {string} Markdown
 */
function markdownOf(result) {
  const { title, command, options, environment, questions, part } = result
  return [
    `# ${title}`,
    '',
    ...(options.isQuick
      ? ['**A quick run: it shows that everything works; its figures mean nothing.**', '']
      : []),
    `\`${command}\` · options: \`${formatSettings(options)}\``,
    '',
    ...Object.entries(environment).map(([name, value]) => `- ${name}: ${value}`),
    '',
    '"Times as good" compares with the peer of the same round (median of the rounds); above 1 is better than the peer.',
    '',
    ...questions.map((question) => sectionOf(question, `${part}-${question.id}.svg`))
  ].join('\n')
}

/**
 * @param {PartResult} result
 * @param {string} folder
 * @returns {Promise<string>} path of the Markdown file
 */
export async function writeReport(result, folder) {
  mkdirSync(folder, { recursive: true })
  const json = await format(JSON.stringify(result), { parser: 'json', printWidth: 100 })
  writeFileSync(join(folder, `${result.part}.json`), json)
  for (const question of result.questions) {
    const picture = `${result.part}-${question.id}.svg`
    writeFileSync(join(folder, picture), drawChart(question))
    for (const { id, label, curve } of question.contenders)
      if (curve)
        writeFileSync(
          join(folder, curvePicture(picture, id)),
          drawCurve(`${question.title}: ${label}`, curve)
        )
  }
  const path = join(folder, `${result.part}.md`)
  writeFileSync(path, markdownOf(result))
  return path
}
