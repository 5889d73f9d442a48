/**
 * A picture of the course of one round: lines over its seconds. Apache ECharts draws SVG without a browser.
 */
import * as echarts from 'echarts'

/**
 * @typedef {object} Curve
 * @property {string} x - what the points lie over, with its unit
 * @property {string} y - what they show, with its unit
 * @property {{ label: string, points: [number, number][] }[]} series
 */

const WIDTH_PX = 960
const HEIGHT_PX = 360

const COLORS = ['#2f6f8f', '#c2703d', '#5b8c5a', '#9aa5b1']

/**
 * @param {string} title
 * @param {Curve} curve
 * @returns {string} SVG
 */
export function drawCurve(title, { x, y, series }) {
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH_PX,
    height: HEIGHT_PX
  })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      color: COLORS,
      title: { text: title, left: 12, top: 12, textStyle: { fontSize: 15 } },
      legend: { right: 12, top: 12 },
      grid: { left: 60, right: 30, top: 70, bottom: 50 },
      xAxis: { type: 'value', name: x, nameLocation: 'middle', nameGap: 28, max: 'dataMax' },
      yAxis: { type: 'value', name: y, min: 0 },
      series: series.map(({ label, points }) => ({
        type: /** @type {const} */ ('line'),
        name: label,
        data: points,
        showSymbol: false
      }))
    })
    return chart.renderToSVGString()
  } finally {
    chart.dispose()
  }
}
