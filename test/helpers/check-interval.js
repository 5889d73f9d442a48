/**
 * @param {object} server - of node:http or node:https
 * @returns {number} ms between two looks for connections that have passed their time; Node tells it, its types do not
 */
export function checkIntervalOf(server) {
  const { connectionsCheckingInterval } = /** @type {{ connectionsCheckingInterval: number }} */ (
    server
  )
  return connectionsCheckingInterval
}
