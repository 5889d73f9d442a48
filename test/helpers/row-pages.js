/**
 * Makes something happen between two pages of rows that a view reads.
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../../src/store/account-store.js').AccountStore} store - whose views read
 * @param {(nth: number) => Promise<unknown>} work - done behind each page before anything is made of it; `nth`: of these, from 1
 */
export function afterRowPages(t, store, work) {
  const { database } = store.searchAccess
  const readSettled = database.readSettled.bind(database)
  let pages = 0
  t.mock.method(
    database,
    'readSettled',
    async (/** @type {Parameters<typeof readSettled>[0]} */ read) => {
      const page = await readSettled(read)
      if (page !== null && typeof page === 'object' && 'rowCount' in page) await work(++pages)
      return page
    }
  )
}
