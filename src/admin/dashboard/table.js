/**
 * Tables: a plain one, one in pages that the server searches, sorts and cuts, and one that grows by what is older.
 */
import { fill, h } from './dom.js'
import { count } from './format.js'

/** @import { Child } from './dom.js' */

const PAGE_ROWS = 50
/** Rows that `growingTable` adds at a time. */
const OLDER_ROWS = 100
/** A search is sent once nothing was typed for so long, ms. */
const TYPING_MS = 250

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => Child | Child[]} cell
 * @property {string} [sort] - the server's name of the order
 * @property {boolean} [isNumber]
 * @property {boolean} [isText] - may break into lines
 */

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 * @param {boolean} isButton - true: the cell holds a button, by which a keyboard opens the row; a click on it counts for the row
 * @returns {HTMLElement}
 */
function cellOf({ cell, isNumber, isText }, row, isButton) {
  const name = isNumber ? 'td.number' : isText ? 'td.text' : 'td'
  const content = [cell(row)].flat()
  return isButton
    ? h(name, {}, h('button.plain', { type: 'button' }, ...content))
    : h(name, {}, ...content)
}

/**
 * @template Row
 * @param {Pick<Column<Row>, 'isNumber'>} column
 * @param {Record<string, string>} attributes
 * @param {Child} content
 * @returns {HTMLElement}
 */
const headOf = ({ isNumber }, attributes, content) =>
  h(isNumber ? 'th.number' : 'th', { scope: 'col', ...attributes }, content)

/**
 * @template Row
 * @param {Column<Row>[]} columns
 * @param {Row[]} rows
 * @param {{ headers?: HTMLElement[], onOpen?: ((row: Row) => void) | undefined }} [options]
 * @returns {HTMLElement}
 */
export function table(columns, rows, { headers, onOpen } = {}) {
  if (rows.length === 0) return h('p.nothing', {}, 'Nothing here')
  const heads = headers ?? columns.map((column) => headOf(column, {}, column.title))
  const lines = rows.map((row) =>
    h(
      onOpen ? 'tr.open' : 'tr',
      onOpen ? { click: () => onOpen(row) } : {},
      ...columns.map((column, index) => cellOf(column, row, index === 0 && onOpen !== undefined))
    )
  )
  return h(
    'div.wide',
    {},
    h('table', {}, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...lines))
  )
}

/**
 * @template Row
 * @param {object} options
 * @param {string} options.placeholder - of the search field
 * @param {Column<Row>[]} options.columns
 * @param {(query: { search: string, sort: string, order: string, limit: number, offset: number }) => Promise<{ total: number, rows: Row[] }>} options.load
 * @param {string} [options.sort] - first order
 * @param {(work: () => Promise<unknown>) => Promise<void>} options.attempt - shows what fails
 * @param {(row: Row) => void} [options.onOpen]
 * @returns {{ search: HTMLElement, body: HTMLElement, reload: () => Promise<void> }}
 */
export function pagedTable({ placeholder, columns, load, attempt, sort = '', onOpen }) {
  const state = { search: '', sort, order: 'asc', offset: 0 }
  const body = h('div.card')
  let asked = 0

  /** @returns {Promise<void>} */
  const reload = async () => {
    const turn = ++asked
    const { total, rows } = await load({ ...state, limit: PAGE_ROWS })
    // An answer is not shown where another question has been asked since.
    if (turn !== asked) return
    if (rows.length === 0 && total > 0 && state.offset > 0) {
      // The rows of this page are gone: the last page is shown.
      state.offset = Math.floor((total - 1) / PAGE_ROWS) * PAGE_ROWS
      return await reload()
    }
    const last = Math.min(state.offset + PAGE_ROWS, total)
    const step = (/** @type {number} */ by) => () => {
      state.offset += by
      return attempt(reload)
    }
    fill(
      body,
      table(columns, rows, { headers: columns.map(headerOf), onOpen }),
      h(
        'div.pager',
        {},
        h(
          'span.muted',
          {},
          total === 0 ? 'none' : `${count(state.offset + 1)}–${count(last)} of ${count(total)}`
        ),
        h(
          'button.quiet.small',
          { type: 'button', disabled: state.offset === 0, click: step(-PAGE_ROWS) },
          'Back'
        ),
        h(
          'button.quiet.small',
          { type: 'button', disabled: last >= total, click: step(PAGE_ROWS) },
          'Next'
        )
      )
    )
  }

  const headerOf = (/** @type {Column<Row>} */ column) => {
    const { title, sort: name, isNumber } = column
    if (name === undefined) return headOf(column, {}, title)
    const isSorted = state.sort === name
    const direction = state.order === 'asc' ? 'ascending' : 'descending'
    const arrow = isSorted ? (state.order === 'asc' ? ' ↑' : ' ↓') : ''
    const turn = () => {
      // Numbers are first sorted from the largest down.
      const first = isNumber ? 'desc' : 'asc'
      state.order = isSorted ? (state.order === 'asc' ? 'desc' : 'asc') : first
      state.sort = name
      state.offset = 0
      return attempt(reload)
    }
    return headOf(
      column,
      isSorted ? { 'aria-sort': direction } : {},
      h('button', { type: 'button', click: turn }, `${title}${arrow}`)
    )
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing
  const search = h('input', {
    type: 'search',
    placeholder,
    'aria-label': placeholder,
    input: (/** @type {{ target: HTMLInputElement }} */ { target }) => {
      clearTimeout(typing)
      typing = setTimeout(() => {
        state.search = target.value
        state.offset = 0
        return attempt(reload)
      }, TYPING_MS)
    }
  })
  return { search, body, reload }
}

/**
 * @template {{ id: number }} Row
 * @param {object} options
 * @param {Column<Row>[]} options.columns
 * @param {(query: { limit: number, before: number | undefined }) => Promise<Row[]>} options.load - newest first
 * @param {(work: () => Promise<unknown>) => Promise<void>} options.attempt - shows what fails
 * @returns {{ body: HTMLElement, more: () => Promise<void> }}
 */
export function growingTable({ columns, load, attempt }) {
  /** @type {Row[]} */
  const rows = []
  const body = h('div.card')
  let isLoading = false
  const more = async () => {
    // A second press while the page loads must not load the same page twice.
    if (isLoading) return
    isLoading = true
    try {
      const older = await load({ limit: OLDER_ROWS, before: rows.at(-1)?.id })
      rows.push(...older)
      const press = () => attempt(more)
      fill(
        body,
        table(columns, rows),
        older.length === OLDER_ROWS &&
          h('div.pager', {}, h('button.quiet.small', { type: 'button', click: press }, 'Older'))
      )
    } finally {
      isLoading = false
    }
  }
  return { body, more }
}
