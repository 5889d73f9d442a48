/**
 * Calls to /v1 with the token of this tab. The token is kept in the tab's session storage: closed, it is gone.
 */

const KEY = 'letterlock-token'

/** A refusal, in the server's words. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} text
   */
  constructor(status, text) {
    super(text)
    this.name = 'ApiError'
    this.status = status
  }
}

/** @returns {boolean} */
export const hasToken = () => sessionStorage.getItem(KEY) !== null

/** @param {string} token */
export const keepToken = (token) => sessionStorage.setItem(KEY, token)

/** Logs out. */
export const dropToken = () => sessionStorage.removeItem(KEY)

/**
 * @param {string} method
 * @param {string} path - below /v1
 * @param {unknown} [body]
 * @returns {Promise<any>} what was answered; null where there was nothing
 * @throws {ApiError}
 */
export async function call(method, path, body) {
  const reply = await fetch(`/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ''}`,
      ...(body !== undefined && { 'content-type': 'application/json' })
    },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  if (reply.status === 204) return null
  const answer = await reply.json()
  if (reply.ok) return answer
  throw new ApiError(reply.status, answer.detail ?? answer.title)
}

/**
 * @param {string} path - below /v1
 * @param {Record<string, string | number | undefined>} [query] - empty values are left out
 * @returns {Promise<any>}
 * @throws {ApiError}
 */
export function get(path, query = {}) {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value))
  }
  const text = search.toString()
  return call('GET', text === '' ? path : `${path}?${text}`)
}
