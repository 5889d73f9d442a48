/**
 * Every command by its name. One more command is one more file, and one more line here and in the parser's table.
 */
import { append } from './append.js'
import { authenticate } from './authenticate.js'
import { capability } from './capability.js'
import { check } from './check.js'
import { close } from './close.js'
import { compress } from './compress.js'
import { copy, uidCopy } from './copy.js'
import { create } from './create.js'
import { deleteCommand } from './delete.js'
import { enable } from './enable.js'
import { expunge, uidExpunge } from './expunge.js'
import { fetch, uidFetch } from './fetch.js'
import { id } from './id.js'
import { idle } from './idle.js'
import { list } from './list.js'
import { login } from './login.js'
import { logout } from './logout.js'
import { lsub } from './lsub.js'
import { move, uidMove } from './move.js'
import { namespace } from './namespace.js'
import { noop } from './noop.js'
import { getQuota, getQuotaRoot } from './quota.js'
import { rename } from './rename.js'
import { search, uidSearch } from './search.js'
import { examine, select } from './select.js'
import { sort, uidSort } from './sort.js'
import { starttls } from './starttls.js'
import { status } from './status.js'
import { store, uidStore } from './store.js'
import { subscribe, unsubscribe } from './subscribe.js'
import { thread, uidThread } from './thread.js'
import { unselect } from './unselect.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {ReadonlyMap<string, Command>} */
export const COMMANDS = new Map(
  [
    append,
    authenticate,
    capability,
    check,
    close,
    compress,
    copy,
    create,
    deleteCommand,
    enable,
    examine,
    expunge,
    fetch,
    getQuota,
    getQuotaRoot,
    id,
    idle,
    list,
    login,
    logout,
    lsub,
    move,
    namespace,
    noop,
    rename,
    search,
    select,
    sort,
    starttls,
    status,
    store,
    subscribe,
    thread,
    uidCopy,
    uidExpunge,
    uidFetch,
    uidMove,
    uidSearch,
    uidSort,
    uidStore,
    uidThread,
    unselect,
    unsubscribe
  ].map((command) => [command.name, command])
)
