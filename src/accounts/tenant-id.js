/**
 * What a tenant may be called, by the admin interface and on the command line: as domains are, which have tenants of their name.
 */
export const TENANT_ID_PATTERN = '^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$'
