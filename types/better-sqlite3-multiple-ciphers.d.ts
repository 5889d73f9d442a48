/**
 * The part of better-sqlite3-multiple-ciphers that this project uses. The package has declarations of its own,
 * but its `exports` map does not name them, so that TypeScript's nodenext resolution cannot find them.
 */
declare module 'better-sqlite3-multiple-ciphers' {
  export interface RunResult {
    changes: number
    lastInsertRowid: number | bigint
  }

  export interface Statement {
    readonly reader: boolean
    run(...params: unknown[]): RunResult
    get(...params: unknown[]): unknown
    all(...params: unknown[]): unknown[]
    iterate(...params: unknown[]): IterableIterator<unknown>
    /** The first column alone. */
    pluck(toggle?: boolean): this
    /** Rows as arrays. */
    raw(toggle?: boolean): this
  }

  export interface Options {
    readonly?: boolean
    fileMustExist?: boolean
    /** SQLite's busy timeout, milliseconds. */
    timeout?: number
  }

  export interface Database {
    readonly name: string
    readonly open: boolean
    readonly inTransaction: boolean
    prepare(source: string): Statement
    exec(source: string): this
    pragma(source: string, options?: { simple?: boolean }): unknown
    /** sqlite3_key: the bytes are copied by the library. */
    key(key: Buffer): number
    /** sqlite3_rekey: rewrites the whole file. */
    rekey(key: Buffer): number
    /** Lifts SQLite's defensive mode, without which a connection must have a journal. */
    unsafeMode(toggle?: boolean): this
    function(
      name: string,
      options: { deterministic?: boolean },
      cb: (...params: never[]) => unknown
    ): this
    backup(
      destination: string,
      options?: { progress?: (info: { totalPages: number; remainingPages: number }) => number }
    ): Promise<{ totalPages: number; remainingPages: number }>
    close(): this
  }

  const Database: { new (filename: string, options?: Options): Database }
  export default Database
}
