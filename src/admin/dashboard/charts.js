/**
 * Small live charts over time, drawn by uPlot in the page's own colours.
 */
import uPlot from './charts/uPlot.esm.js'
import { time } from './format.js'

const MIN_SPAN_SECONDS = 60

/**
 * @param {string} name - of a custom property in style.css
 * @returns {string}
 */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/**
 * @param {HTMLElement} parent
 * @param {{ format: (value: number) => string }} options
 * @returns {{ show: (times: number[], values: (number | null)[]) => void, close: () => void }} times in ms
 */
export function lineChart(parent, { format }) {
  const grid = { stroke: colour('--line'), width: 1 }
  const axis = { stroke: colour('--muted'), grid, ticks: { show: false }, font: '11px system-ui' }
  const chart = new uPlot(
    {
      width: Math.max(200, parent.clientWidth),
      height: 150,
      padding: [8, 8, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        // Right after the start there is only one point, which spans no time.
        x: { range: (_chart, first, last) => [Math.min(first, last - MIN_SPAN_SECONDS), last] },
        y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.15 : 1] }
      },
      axes: [
        {
          ...axis,
          size: 26,
          space: 80,
          values: (_chart, seconds) => seconds.map((second) => time(second * 1000).slice(11))
        },
        {
          ...axis,
          size: 62,
          space: 34,
          values: (_chart, values) => values.map((value) => format(value))
        }
      ],
      series: [
        {},
        {
          stroke: colour('--accent'),
          width: 1.75,
          fill: `${colour('--accent')}22`,
          points: { show: false }
        }
      ]
    },
    [[], []],
    parent
  )
  const observer = new ResizeObserver(() => {
    chart.setSize({ width: Math.max(200, parent.clientWidth), height: 150 })
  })
  observer.observe(parent)
  return {
    show: (times, values) => {
      chart.setData([times.map((ms) => ms / 1000), values])
    },
    close: () => {
      observer.disconnect()
      chart.destroy()
    }
  }
}
