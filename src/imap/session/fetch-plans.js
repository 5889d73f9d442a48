/**
 * Ways to answer a FETCH, by what it asks for. Clients ask for the same few items again and again: what they are answered by is
 * found out once.
 */
import { BoundedMemo } from '../../support/bounded-memo.js'
import { planPages } from './fetch-page.js'
import { planBodies, planFetch } from './fetch-plan.js'

/** @import { FetchItem } from '../protocol/values/fetch-item.js' */
/** @import { PagePlan } from './fetch-page.js' */
/** @import { BodyNeeds, FetchPlan } from './fetch-plan.js' */

/**
 * @typedef {object} FetchPlans
 * @property {FetchPlan} plan
 * @property {PagePlan | null} pagePlan - null where it is no list
 * @property {BodyNeeds | null} bodyNeeds - null where it is one, or asks for more than messages' bytes
 */

/** @type {BoundedMemo<FetchPlans>[]} */
const known = Array.from({ length: 4 }, () => new BoundedMemo())

/**
 * @param {object} asked
 * @param {readonly FetchItem[]} asked.items
 * @param {string | null} asked.itemsText - the same text is the same items; null: there is none
 * @param {boolean} asked.isUid
 * @param {boolean} asked.isChangedSince
 * @returns {FetchPlans}
 */
export function plansFor({ items, itemsText, isUid, isChangedSince }) {
  const make = () => {
    const plan = planFetch({ items, isUid, isChangedSince })
    const pagePlan = planPages(plan)
    return { plan, pagePlan, bodyNeeds: pagePlan === null ? planBodies(plan) : null }
  }
  const memo = known[Number(isUid) * 2 + Number(isChangedSince)]
  return itemsText === null || memo === undefined ? make() : memo.get(itemsText, make)
}
