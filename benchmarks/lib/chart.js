/**
 * One picture for each question: a row of bars for each line, a bar for each contender. Apache ECharts draws SVG
 * without a browser.
 */
import * as echarts from 'echarts'
import { formatValue } from './format.js'

/** @typedef {import('./run-question.js').QuestionResult} QuestionResult */

const WIDTH_PX = 960
const BAR_PX = 22
const HEAD_PX = 44
const LEFT_PX = 290
const RIGHT_PX = 110

const PEER_COLOR = '#9aa5b1'
const OWN_COLOR = '#2f6f8f'

/**
 * @param {QuestionResult} question
 * @param {QuestionResult['lines'][number]} line
 */
function barsOf(question, line) {
  return question.contenders.flatMap(({ id, label, isPeer }) => {
    const result = question.results.find((one) => one.contender === id && one.line === line.id)
    if (!result) return []
    const hasRate = result.rate !== undefined
    const value = result.rate ?? result.summary.median
    const unit = hasRate ? 'ops/s' : line.unit
    return [{ label, isPeer, value, unit, text: formatValue(value, unit), hasRate }]
  })
}

/**
 * @param {QuestionResult} question
 * @returns {string} SVG
 */
export function drawChart(question) {
  const rows = question.lines
    .map((line) => ({ line, bars: barsOf(question, line) }))
    .filter(({ bars }) => bars.length > 0)
  let top = 48
  const places = rows.map(({ bars }) => {
    const place = { top: top + HEAD_PX, height: bars.length * BAR_PX }
    top = place.top + place.height
    return place
  })
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH_PX,
    height: top + 24
  })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      title: [
        { text: question.title, left: 12, top: 12, textStyle: { fontSize: 15 } },
        ...rows.map(({ line, bars }, index) => ({
          text: `${line.label} (${bars[0]?.hasRate ? 'more' : line.better === 'lower' ? 'less' : 'more'} is better)`,
          left: 12,
          top: /** @type {{ top: number }} */ (places[index]).top - 24,
          textStyle: { fontSize: 12, fontWeight: /** @type {const} */ ('normal') }
        }))
      ],
      grid: places.map((place) => ({ ...place, left: LEFT_PX, right: RIGHT_PX })),
      xAxis: rows.map((_, gridIndex) => ({
        type: /** @type {const} */ ('value'),
        gridIndex,
        min: 0,
        axisLabel: { show: false },
        splitLine: { show: false }
      })),
      yAxis: rows.map(({ bars }, gridIndex) => ({
        type: /** @type {const} */ ('category'),
        gridIndex,
        inverse: true,
        data: bars.map(({ label }) => label),
        axisTick: { show: false },
        axisLabel: { width: LEFT_PX - 20, overflow: /** @type {const} */ ('truncate') }
      })),
      series: rows.map(({ bars }, index) => ({
        type: /** @type {const} */ ('bar'),
        xAxisIndex: index,
        yAxisIndex: index,
        barWidth: BAR_PX - 8,
        data: bars.map(({ value, text, isPeer }) => ({
          value,
          itemStyle: { color: isPeer ? PEER_COLOR : OWN_COLOR },
          label: { show: true, position: /** @type {const} */ ('right'), formatter: text }
        }))
      }))
    })
    return chart.renderToSVGString()
  } finally {
    chart.dispose()
  }
}
