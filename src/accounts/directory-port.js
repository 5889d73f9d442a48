/**
 * The directory as the rest of the program sees it. Plain data in and out, one atomic change per method,
 * promises throughout: an implementation over a network can take the place of `directory.js`. Nobody else asks directory.db,
 * and test/unit/accounts/directory-contract/ is what every implementation must keep.
 *
 * Two halves. `SharedDirectory` would be the same on every node: who there is, by which credentials, with how much mail. What
 * is in `NodeDirectory` is of the host that has the mailbox: folders on its disk and work on them. Which worker has an
 * account open, who is connected and what is throttled are in neither: that lives in the workers' memory and in `<data>/run`.
 */

/**
 * @typedef {object} Account
 * @property {string} id
 * @property {string} address - primary, canonical
 * @property {string} domain
 * @property {string} tenant - whose it is
 * @property {string} folder - on the host that has the mailbox: absolute here, kept relative to its data folder
 * @property {number} createdAtMs
 * @property {boolean} isEnabled
 * @property {import('../database/setup-pragma.js').Cipher | null} cipher - of mail.db; null where it is not known yet
 * @property {number} quotaBytes - 0: no limit
 * @property {number} quotaMessages - 0: no limit
 * @property {number} usedBytes
 * @property {number} usedMessages
 * @property {number} keyEpoch
 * @property {string} sealRecipient - age1pq1…
 * @property {Buffer} sealPublicKey
 */

/** @typedef {'password' | 'app-password' | 'recovery'} CredentialKind */
/** @typedef {'read-write' | 'read-only'} Scope */

/**
 * @typedef {object} Credential
 * @property {string} id
 * @property {string} accountId
 * @property {CredentialKind} kind
 * @property {string} label
 * @property {Scope} scope
 * @property {number | null} expiresAtMs
 * @property {number} version - grows with each new password; stays when the same one is wrapped anew
 * @property {import('../crypto/kdf.js').Argon2Params | null} argon2 - null for codes
 * @property {string | null} pepperId - null for codes
 * @property {number} keyEpoch
 * @property {Buffer | null} lookup - app passwords alone
 * @property {Buffer} salt
 * @property {Buffer} commitment
 * @property {Buffer} wrappedKey
 * @property {number} createdAtMs
 * @property {number} changedAtMs
 * @property {number | null} lastUsedAtMs
 */

/**
 * @typedef {Pick<Credential, 'version' | 'expiresAtMs'>} CredentialState - what a session that came in with it depends on
 * @typedef {Pick<Credential, 'id' | 'version'>} ProvedCredential - by whose secret something was asked for
 * @typedef {Pick<Account, 'isEnabled' | 'keyEpoch' | 'tenant' | 'quotaBytes' | 'quotaMessages' | 'usedBytes'>} AccountState - what an
 *   open mailbox depends on
 */

/**
 * @typedef {object} SealIdentityRow
 * @property {string} accountId
 * @property {number} number - the highest is the current one
 * @property {string} recipient
 * @property {number} keyEpoch
 * @property {Buffer} wrappedSecret
 * @property {number} createdAtMs
 */

/**
 * @typedef {object} NewAccount
 * @property {string} id
 * @property {string} address - canonical
 * @property {string} domain - canonical
 * @property {string} folder - absolute, within the data folder
 * @property {import('../database/setup-pragma.js').Cipher | null} cipher - of mail.db; null where it is not known yet
 * @property {number} quotaBytes
 * @property {number} quotaMessages
 * @property {KeyRows} keys
 * @property {boolean} [isEnabled] - default: true
 * @property {string} [tenant] - another than its domain's
 * @property {string[]} [aliases] - canonical; it gets those that no other account has
 * @property {string} [restoredFrom] - generation of the backup that its mailbox comes out of: the first unlock lifts UIDs
 *   and MODSEQs
 */

/** @typedef {Pick<NewAccount, 'keys' | 'folder' | 'cipher'>} NewMailbox */

/**
 * @typedef {object} MailboxUsage
 * @property {number} bytes
 * @property {number} messages
 * @property {string} [folder] - of the mailbox that holds them: nothing is written where another has taken its place
 */

/**
 * @typedef {object} KeyRows - everything of an account that hangs on its master key
 * @property {number} keyEpoch
 * @property {string} sealRecipient - of the current identity
 * @property {Buffer} sealPublicKey
 * @property {Credential[]} credentials
 * @property {SealIdentityRow[]} sealIdentities
 */

/**
 * @typedef {object} PendingRekey
 * @property {string} accountId
 * @property {Buffer} wrappedNextKey - under the present master key
 * @property {KeyRows} next
 * @property {number} startedAtMs
 */

/**
 * @typedef {object} PendingRestore
 * @property {string} accountId
 * @property {string} generation - of the backup
 * @property {'asked' | 'switching' | 'lift' | 'check'} state - see restored.js
 * @property {string} staged - folder within the account's; '' where nothing has to be switched
 * @property {string} replaced - folder within the account's
 * @property {import('../database/setup-pragma.js').Cipher | null} cipher - of the staged file
 * @property {number} requestedAtMs
 * @property {boolean} [isUnlifted] - whether the mailbox that is to be replaced has come out of a backup itself, and is still to
 *   be lifted
 */

/**
 * @typedef {object} RestoreStep
 * @property {PendingRestore['state']} from
 * @property {PendingRestore['state'] | null} to - null: it is over; one before goes on that had put the present mailbox in place
 * @property {string} [staged] - only a restore with this folder is meant: another may have taken its place
 */

/**
 * @typedef {object} AuditEvent
 * @property {import('./audit-actions.js').AuditAction} action
 * @property {string | null} [accountId]
 * @property {string | null} [remoteAddress]
 * @property {string | null} [tenant] - that of the account unless told
 * @property {Record<string, string | number | boolean | null>} [detail] - never a secret
 */

/** @typedef {AuditEvent & { id: number, atMs: number }} AuditRow */

/**
 * @typedef {object} MaintenanceState - of one job on one mailbox
 * @property {number | null} doneAtMs - last good end; null: never
 * @property {number} failures - in a row
 * @property {string | null} failedCode - of the last failure, as long as no good end followed
 * @property {number | null} nextTryAtMs - no try before it; null: the job's interval decides
 */

/**
 * @typedef {object} MaintenanceRun
 * @property {string} accountId
 * @property {string} job
 * @property {number} atMs - when it began
 * @property {string} why
 * @property {'done' | 'skipped' | 'stopped' | 'failed'} result
 * @property {string | null} note - why it was skipped, or the error's code
 * @property {Record<string, number>} before - figures
 * @property {Record<string, number>} after
 * @property {number} tookMs
 */

/**
 * @typedef {{ accountId: string, job: string, state: MaintenanceState, run: Omit<MaintenanceRun, 'accountId' | 'job'> | null }
 *   | { accountId: string, atMs: number, space: { fileBytes: number, freeBytes: number } }
 *   | { accountId: string, isAnew: true }} MaintenanceEntry -
 *   `run` is null where there was nothing to do; `isAnew`: the mailbox has another file, of which nothing is known
 */

/**
 * @typedef {object} MaintenanceSummary
 * @property {string} accountId
 * @property {string} address
 * @property {number | null} fileBytes - of mail.db; null: never looked at
 * @property {number | null} freeBytes
 * @property {number | null} measuredAtMs
 * @property {number | null} requestedAtMs
 * @property {number | null} doneAtMs - the latest good end of any job
 * @property {number} failingJobs
 */

/**
 * @typedef {object} MaintenanceFailure
 * @property {string} accountId
 * @property {string} job
 * @property {number} failures - in a row
 * @property {string | null} code
 * @property {number | null} nextTryAtMs
 */

/**
 * @typedef {object} Tenant
 * @property {string} id
 * @property {string} label
 * @property {number} createdAtMs
 * @property {number} quotaBytes - of all its accounts together; 0: no limit
 * @property {number} maxAccounts - 0: no limit
 * @property {string[]} domains
 * @property {number} accounts
 * @property {number} usedBytes
 * @property {number} usedMessages
 * @property {number} fileBytes - of its mailboxes' files, as far as maintenance has looked at them
 * @property {number} freeBytes - of these, in pages without content
 */

/** @typedef {'read' | 'accounts' | 'backups' | 'all'} ApiScope */

/**
 * @typedef {object} ApiToken
 * @property {string} id
 * @property {string} label
 * @property {ApiScope[]} scopes
 * @property {string | null} tenant - null: it reaches every tenant
 * @property {number} createdAtMs
 * @property {number | null} expiresAtMs
 * @property {number | null} lastUsedAtMs
 */

/**
 * @typedef {object} AccountSummary
 * @property {string} id
 * @property {string} address
 * @property {string} domain
 * @property {string} tenant
 * @property {number} createdAtMs
 * @property {boolean} isEnabled
 * @property {number} quotaBytes
 * @property {number} quotaMessages
 * @property {number} usedBytes
 * @property {number} usedMessages
 * @property {number | null} fileBytes - null: maintenance has never looked at it
 * @property {number | null} freeBytes
 * @property {number} failingJobs
 *
 * @typedef {object} AccountPageQuery
 * @property {string | null} [tenant] - null: of all
 * @property {string} [accountId]
 * @property {string} [search] - part of an address
 * @property {string} [afterAddress] - only accounts behind it; the total counts all others as well
 * @property {'address' | 'tenant' | 'createdAtMs' | 'usedBytes' | 'usedMessages' | 'fileBytes' | 'fragmentation'} sort
 * @property {boolean} isDescending
 * @property {number} limit
 * @property {number} offset
 *
 * @typedef {object} AuditQuery
 * @property {string | null} [tenant] - null: of all, and of none
 * @property {boolean} [isPresentTenant] - no events of another tenant that had the id before
 * @property {string} [accountId]
 * @property {string} [action]
 * @property {number} [beforeId]
 * @property {number} [afterId]
 * @property {number} [sinceMs]
 * @property {number} [untilMs]
 * @property {number} limit
 * @property {boolean} [isOldestFirst]
 */

/**
 * @typedef {object} SharedDirectory
 * @property {(address: string) => Promise<Account | null>} findByAddress - resolves case, the default domain,
 *   aliases and +detail; null also for a text that is no address
 * @property {(accountId: string) => Promise<Account | null>} findAccount
 * @property {(filter?: { domain?: string, tenant?: string }) => Promise<Account[]>} listAccounts - by address
 * @property {() => Promise<{ name: string, accounts: number }[]>} listDomains
 * @property {(account: NewAccount) => Promise<Account>} createAccount - throws ACCOUNT_EXISTS; BUSY where the
 *   folder is listed by `listRemovals`
 * @property {(accountId: string) => Promise<void>} deleteAccount - keys first of all: no row of them is left,
 *   nor in the write-ahead log; the folder is then listed by `listRemovals`, and the deletion by `listDeletions`
 * @property {(accountId: string, change: { isEnabled?: boolean, quotaBytes?: number, quotaMessages?: number, tenant?: string }) => Promise<void>} updateAccount
 * @property {(accountId: string, found: { cipher: import('../database/setup-pragma.js').Cipher, folder: string }) => Promise<void>} recordCipher -
 *   of the mailbox in that folder, absolute; records nothing where the account has another mailbox by now
 * @property {(accountId: string, address: string) => Promise<void>} addAlias - throws ACCOUNT_EXISTS
 * @property {(accountId: string, address: string) => Promise<boolean>} removeAlias
 * @property {(accountId: string) => Promise<string[]>} listAliases - without the primary address
 * @property {(credentialId: string) => Promise<Credential | null>} findCredential
 * @property {(accountId: string, kind: 'password' | 'recovery') => Promise<Credential | null>} findSingleCredential
 * @property {(accountId: string, lookup: Buffer) => Promise<Credential | null>} findAppPassword
 * @property {(accountId: string) => Promise<Credential[]>} listCredentials
 * @property {() => Promise<string[]>} listPepperIds - that some credential needs
 * @property {(credential: Credential, proved: ProvedCredential, limit?: { atMost?: number }) => Promise<void>} insertCredential -
 *   `atMost`: how many of this kind there may be, with this one; throws LIMIT, and BUSY while the account is being rekeyed, or
 *   where it was rekeyed, or the proved credential was changed, meanwhile
 * @property {(credentials: Credential[], replaced: { version: number, proved?: ProvedCredential }) => Promise<boolean>} replaceCredentials -
 *   rewrites rows of the same ids in one transaction, and removes the old wraps from the write-ahead log;
 *   only while the first row still has the version `replaced`, and the others the one before their new one (false otherwise);
 *   throws BUSY as `insertCredential` does
 * @property {(credentialId: string) => Promise<boolean>} deleteCredential - and from the write-ahead log
 * @property {(accountId: string) => Promise<SealIdentityRow[]>} listSealIdentities - the current one first
 * @property {(accountId: string, change: { found: SealKey, right: SealKey }) => Promise<void>} replaceSealKey - of the key that
 *   mail is sealed to; changes nothing where `found` is no longer what stands there
 * @property {(rekey: PendingRekey) => Promise<void>} beginRekey - throws BUSY where a credential was changed
 *   since its next row was made, or a restore is asked for or switching
 * @property {(accountId: string) => Promise<PendingRekey | null>} findRekey
 * @property {(accountId: string, nextKeyEpoch: number) => Promise<void>} cancelRekey - only the one to that epoch: another may be pending by now
 * @property {(accountId: string, nextKeyEpoch: number) => Promise<void>} finishRekey - the pending rows take the place of the present ones
 * @property {(accountId: string, mailbox: NewMailbox) => Promise<void>} replaceMailbox - new keys and a new folder; the old
 *   folder is then listed by `listRemovals`; throws BUSY as `createAccount` does
 * @property {() => Promise<{ accountId: string, atMs: number }[]>} listDeletions - of accounts, as the audit log has them
 * @property {(credentialId: string) => void} recordUse - last use; written within a second
 * @property {(accountId: string, usage: MailboxUsage) => void} recordUsage - written within a second
 * @property {(event: AuditEvent) => void} audit - written within a second
 * @property {() => Promise<Tenant[]>} listTenants - by id
 * @property {(id: string) => Promise<Tenant | null>} findTenant
 * @property {(id: string) => Promise<boolean>} hasTenant - the same without a sum over its accounts
 * @property {(tenant: { id: string, label: string, quotaBytes: number, maxAccounts: number }) => Promise<void>} createTenant - throws TENANT_EXISTS
 * @property {(id: string, change: { label?: string, quotaBytes?: number, maxAccounts?: number }) => Promise<void>} updateTenant
 * @property {(id: string) => Promise<void>} deleteTenant - throws TENANT_IN_USE
 * @property {(domain: string, tenantId: string) => Promise<void>} assignDomain
 * @property {(domain: string) => Promise<string | null>} findTenantOfDomain
 * @property {(id: string) => Promise<number | null>} tenantRoom - bytes that its accounts may still grow by; null: no limit
 * @property {(accountIds: string[]) => Promise<Map<string, AccountState>>} accountStates - by account id; without those that
 *   are gone
 * @property {(credentialIds: string[]) => Promise<Map<string, CredentialState>>} credentialStates - by credential id; without
 *   those that are gone
 * @property {(query: AccountPageQuery) => Promise<{ total: number, accounts: AccountSummary[] }>} pageAccounts
 * @property {() => Promise<{ accounts: number, tenants: number, usedBytes: number, usedMessages: number, fileBytes: number, freeBytes: number }>} totals
 * @property {(query: AuditQuery) => Promise<AuditRow[]>} pageAudit - newest first unless told
 * @property {(token: Omit<ApiToken, 'lastUsedAtMs'> & { hash: Buffer }) => Promise<void>} insertApiToken
 * @property {(hash: Buffer) => Promise<ApiToken | null>} findApiToken - also one that has expired
 * @property {() => Promise<ApiToken[]>} listApiTokens
 * @property {(id: string) => Promise<boolean>} deleteApiToken
 * @property {(id: string) => void} recordTokenUse - written within a second
 * @property {() => Promise<void>} flush - writes at once all that waits to be written
 * @property {() => Promise<void>} close - after a last flush, whose failure is only logged
 */

/**
 * @typedef {object} NodeDirectory
 * @property {() => Promise<string[]>} listRemovals - absolute folders whose files still have to go; none of them
 *   is an account's
 * @property {() => Promise<{ ofAccounts: string[], passing: string[] }>} listFolders - absolute; `passing`: those that are to be
 *   removed, or are being made
 * @property {(folder: string) => Promise<void>} finishRemoval
 * @property {(folder: string) => Promise<void>} planFolder - absolute; a mailbox is about to be made there. `listRemovals` has
 *   it an hour later, unless an account stands in it by then
 * @property {(accountId: string) => Promise<PendingRestore | null>} findRestore
 * @property {(restore: PendingRestore & { keyEpoch?: number }) => Promise<void>} beginRestore - takes the place of one that
 *   was not over; throws RESTORE_REFUSED where the account has another key than that of `keyEpoch`, or is getting one
 * @property {(accountId: string, step: RestoreStep) => Promise<boolean>} advanceRestore - false where the restore is in
 *   another state, or another one has taken its place
 * @property {(accountId: string) => Promise<number>} findLifts - how often the numbers of its mailbox are lifted, once the present
 *   restore is
 * @property {(accountId: string, lifts: number) => Promise<void>} noteLifted - the mailbox in place is, so often in all
 * @property {(entry: MaintenanceEntry) => void} recordMaintenance - written within a second
 * @property {(accountId: string) => Promise<{ requestedAtMs: number | null, jobs: Map<string, MaintenanceState> }>} findMaintenance
 * @property {(accountIds: string[]) => Promise<Map<string, number>>} listMaintenanceRequests - when maintenance was asked for, by account id; only accounts of which it was
 * @property {(accountId: string | null, filter?: { tenant?: string }) => Promise<number>} requestMaintenance - null: of every account, or of every one of the tenant; gives their number
 * @property {(accountId: string, requestedAtMs: number) => Promise<void>} finishMaintenanceRequest
 * @property {(filter?: { accountId?: string }) => Promise<MaintenanceSummary[]>} listMaintenance - by address
 * @property {(filter?: { accountId?: string, limit?: number }) => Promise<MaintenanceRun[]>} listMaintenanceRuns - newest first
 * @property {(limit?: number) => Promise<{ failing: MaintenanceFailure[], failingTotal: number }>} listMaintenanceFailures
 * @property {(limit: number) => Promise<{ damaged: number, damagedIds: string[] }>} listDamaged - accounts; `limit` of them are named
 * @property {(page: { afterId: string, limit: number }) => Promise<{ id: string, folder: string }[]>} pageFolders - by id; relative to the data folder
 * @property {(query: { tenant?: string | null, accountId?: string, beforeId?: number, limit: number }) => Promise<(MaintenanceRun & { id: number, address: string })[]>} pageMaintenanceRuns - newest first
 * @property {() => Promise<DirectoryCheck>} quickCheck
 */

/**
 * @typedef {object} SealKey - that mail is sealed to, as it stands in the directory
 * @property {string} recipient - age1pq1…
 * @property {Buffer} publicKey - the key that `recipient` spells
 */

/**
 * @typedef {object} DirectoryCheck
 * @property {string[]} problems - of the directory's own file; empty if there are none
 * @property {string[]} misfits - ids of accounts whose key that mail is sealed to stands there in two ways that differ, or
 *   not at all; not looked for where there are problems
 * @property {string[]} keyless - ids of accounts without any credential; not looked for where there are problems
 */

/** @typedef {SharedDirectory & NodeDirectory} DirectoryPort */

export {}
