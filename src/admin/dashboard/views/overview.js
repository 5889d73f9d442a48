/**
 * Health at a glance, the host's totals, and an hour of figures.
 */
import { ApiError, get } from '../api.js'
import { lineChart } from '../charts.js'
import { fill, h } from '../dom.js'
import { bytes, chartText, count, counted, duration, percent } from '../format.js'

/** Time between two refreshes, ms: as often as the server makes a point. */
const REFRESH_MS = 5000

const WORDS = { ok: 'All is well', warn: 'Worth a look', fail: 'Needs you' }

/** @param {number} value */
const short = (value) =>
  value >= 1000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value * 10) / 10)

/**
 * Turns counters into rates between two points; a restart in between leaves a gap.
 *
 * @param {any[]} points
 * @param {string} name
 * @param {number} perMs
 * @returns {(number | null)[]}
 */
function rates(points, name, perMs) {
  return points.map((point, index) => {
    const before = points[index - 1]
    if (!before || point[name] < before[name] || point.atMs <= before.atMs) return null
    return ((point[name] - before[name]) / (point.atMs - before.atMs)) * perMs
  })
}

const CHARTS = [
  {
    title: 'Commands a second',
    format: short,
    values: (/** @type {any[]} */ points) => rates(points, 'commands', 1000)
  },
  {
    title: 'Sessions',
    format: short,
    values: (/** @type {any[]} */ points) => points.map(({ sessions }) => sessions)
  },
  {
    title: 'Deliveries a minute',
    format: short,
    values: (/** @type {any[]} */ points) => rates(points, 'deliveries', 60_000)
  },
  {
    title: 'Refused logins a minute',
    format: short,
    values: (/** @type {any[]} */ points) => rates(points, 'loginsRefused', 60_000)
  },
  {
    title: 'Event-loop delay, 99th percentile',
    format: duration,
    values: (/** @type {any[]} */ points) => points.map(({ eventLoopP99Ms }) => eventLoopP99Ms)
  },
  {
    title: 'Memory',
    format: bytes,
    values: (/** @type {any[]} */ points) => points.map(({ rssBytes }) => rssBytes)
  }
]

/**
 * @param {string} title
 * @param {string} figure
 * @param {string} note
 */
const figureCard = (title, figure, note) =>
  h(
    'div.card.span-3',
    {},
    h('h2', {}, title),
    h('div.figure', {}, figure),
    h('div.muted', {}, note)
  )

/** @type {import('../app.js').View} */
export async function showOverview(page, { attempt }) {
  const head = h('div.head')
  const checks = h('div.checks')
  const figures = h('div.grid.span-12')
  const charts = CHARTS.map(({ title, format, values }) => {
    const place = h('div.chart', { role: 'img', 'aria-label': title })
    const card = h('div.card.span-6', {}, h('h2', {}, title), place)
    return { title, place, card, format, values }
  })
  fill(
    page,
    head,
    h(
      'div.grid',
      {},
      h('div.card.span-12', {}, h('h2', {}, 'Health'), checks),
      figures,
      ...charts.map(({ card }) => card)
    )
  )
  const drawn = charts.map(({ place, format }) => lineChart(place, { format }))

  const refresh = async () => {
    const [health, { totals, points }] = await Promise.all([get('/health'), get('/figures')])
    const status = /** @type {keyof typeof WORDS} */ (health.status)
    fill(
      head,
      h('h1', {}, 'Overview'),
      h(`span.badge.${status}`, { id: 'status' }, WORDS[status]),
      h('span.space'),
      h('span.muted', {}, `Letterlock ${health.version}`)
    )
    fill(
      checks,
      ...health.checks.map((/** @type {any} */ check) =>
        h(
          'div.check',
          {},
          h('span', {}, h(`span.badge.${check.status}`, {}, check.status)),
          h('strong', {}, check.name),
          h('p', {}, check.text)
        )
      )
    )
    const now = points.at(-1)
    const free = totals.fileBytes > 0 ? totals.freeBytes / totals.fileBytes : 0
    fill(
      figures,
      figureCard('Accounts', count(totals.accounts), counted(totals.tenants, 'tenant')),
      figureCard(
        'Sessions',
        count(now?.sessions),
        counted(now?.openMailboxes, 'open mailbox', 'open mailboxes')
      ),
      figureCard(
        'Mail',
        bytes(totals.usedBytes),
        `${counted(totals.usedMessages, 'message')}; files ${bytes(totals.fileBytes)}, ${percent(free)} free`
      ),
      figureCard(
        'Waiting',
        count(totals.spoolMessages),
        `${bytes(totals.spoolBytes)} sealed; disk ${bytes(totals.diskFreeBytes)} free`
      )
    )
    const times = points.map((/** @type {any} */ { atMs }) => atMs)
    charts.forEach(({ title, place, format, values: valuesOf }, index) => {
      const values = valuesOf(points)
      drawn[index]?.show(times, values)
      place.setAttribute('aria-label', chartText(title, values, format))
    })
  }

  // A server that restarts will answer again: until then the last figures stay.
  const refreshAgain = async () => {
    try {
      await refresh()
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) throw error
      fill(head, h('h1', {}, 'Overview'), h('span.badge.fail', { id: 'status' }, 'No answer'))
    }
  }
  await refresh()
  const timer = setInterval(() => attempt(refreshAgain), REFRESH_MS)
  return () => {
    clearInterval(timer)
    for (const chart of drawn) chart.close()
  }
}
