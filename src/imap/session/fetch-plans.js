/**
 * The plans to answer a FETCH, by its items. Clients ask for the same few items again and again, so the plans for them are made
 * once.
 */
import { BoundedMemo } from '../../support/bounded-memo.js'
import { planPages } from './fetch-page.js'
import { planBodies, planFetch } from './fetch-plan.js'

/** @import { BodyNeeds } from '../../store/read-bodies.js' */
/** @import { FetchItem } from '../protocol/values/fetch-item.js' */
/** @import { PagePlan } from './fetch-page.js' */
/** @import { FetchPlan } from './fetch-plan.js' */

/**
 * @typedef {object} FetchPlans
 * @property {FetchPlan} plan
 * @property {PagePlan | null} pagePlan - null where the FETCH asks for no list
 * @property {BodyNeeds | null} bodyNeeds - null where it asks for more than messages' bytes, or for a list that tells all; where
 *   there is a page plan too, it is for messages whose lists do not tell all
 */

/** @type {BoundedMemo<FetchPlans>} */
const known = new BoundedMemo()
/** @type {BoundedMemo<FetchPlans>} */
const knownByUid = new BoundedMemo()

/**
 * @param {object} asked
 * @param {readonly FetchItem[]} asked.items
 * @param {string | null} asked.itemsText - the same text is the same items, of all messages that are named; null: there is
 *   none
 * @param {boolean} asked.isUid
 * @param {number | null} asked.changedSince - null where there is a text
 * @returns {FetchPlans}
 */
export function plansFor({ items, itemsText, isUid, changedSince }) {
  const make = () => {
    const plan = planFetch({ items, isUid, isChangedSince: changedSince !== null })
    const pagePlan = planPages(plan)
    return { plan, pagePlan, bodyNeeds: pagePlan?.isCertain ? null : planBodies(plan) }
  }
  return itemsText === null ? make() : (isUid ? knownByUid : known).get(itemsText, make)
}
