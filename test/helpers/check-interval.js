/**
 * @param {object} server - of node:http or node:https
 * @returns {number} ms between two checks for connections that have timed out; Node has the property, its types do not
 */
export function checkIntervalOf(server) {
  const { connectionsCheckingInterval } = /** @type {{ connectionsCheckingInterval: number }} */ (
    server
  )
  return connectionsCheckingInterval
}
