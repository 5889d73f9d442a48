/**
 * Figures and times as people read them.
 */

/** @import { Html } from './html.js' */
import { html } from './html.js'

/**
 * @param {number} timeMs
 * @returns {Html} to the minute, UTC: without a script nobody knows where the reader is
 */
export function timeOf(timeMs) {
  const iso = new Date(timeMs).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

/**
 * @param {number} timeMs
 * @returns {Html} the day, UTC
 */
export function dayOf(timeMs) {
  const day = new Date(timeMs).toISOString().slice(0, 10)
  return html`<time datetime="${day}">${day}</time>`
}
