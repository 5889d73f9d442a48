import neostandard from 'neostandard'
import jsdoc from 'eslint-plugin-jsdoc'

/**
 * The layers, lowest first: a file imports only from rows above its own, or from its own folder.
 * docs/architecture.md has the same table with what each row may not know.
 */
const LAYERS = [
  ['errors', 'support', 'telemetry'],
  ['crypto', 'mime', 'imap/protocol'],
  ['database'],
  ['store'],
  ['accounts', 'cluster', 'delivery', 'maintenance', 'backup', 'import', 'export'],
  ['imap/session', 'admin', 'cli', 'sasl', 'user-page', 'discovery']
]

const SQLITE = 'better-sqlite3-multiple-ciphers'

/** Layer row 2 is pure: no sockets, no files, no database. */
const IMPURE = ['node:net', 'node:tls', 'node:fs', 'node:fs/promises', 'node:http', SQLITE]

/** See src/database/statement.js. */
const bareLimits = ['Literal[value', 'TemplateElement[value.raw']
  .map((text) => `${text}=/LIMIT [?](?! [+] 0)/]`)
  .map((selector) => ({ selector, message: 'A bound limit is written `LIMIT ? + 0`.' }))

const clockAndRandom = [
  { object: 'Date', property: 'now', message: 'Take a clock (src/support/clock.js).' },
  { object: 'Math', property: 'random', message: 'Use node:crypto.' },
  { object: 'process', property: 'env', message: 'Environment is read in config/ alone.' }
]

/**
 * @param {string} name
 * @returns {string[]} import patterns that name this module from any depth
 */
const patternsFor = (name) => (name === 'errors' ? ['**/errors.js'] : [`**/${name}/**`])

/** The tables of directory.db are the business of its own modules: everybody else asks through directory-port.js. */
const DIRECTORY_TABLES = [
  'accounts',
  'audit',
  'batch',
  'connection',
  'keys',
  'lists',
  'maintenance'
]
  .concat(['removals', 'restores', 'rows', 'tenants', 'tokens'])
  .map((part) => `**/accounts/directory-${part}.js`)

const layerRules = LAYERS.flatMap((row, index) =>
  row
    .filter((name) => name !== 'errors')
    .map((name) => {
      const forbidden = LAYERS.flatMap((otherRow, otherIndex) =>
        otherRow.filter(
          (other) => other !== name && (otherIndex > index || (index === 1 && otherIndex === 1))
        )
      )
      return {
        files: [`src/${name}/**/*.js`],
        rules: {
          'no-restricted-imports': [
            'error',
            {
              paths:
                index === 1
                  ? IMPURE.map((path) => ({ name: path, message: 'This layer is pure.' }))
                  : [{ name: SQLITE, message: 'Import src/database/library.js.' }],
              patterns: [
                ...forbidden.map((other) => ({
                  group: patternsFor(other),
                  message: `${name} may not import ${other}: see LAYERS in eslint.config.js.`
                })),
                { group: DIRECTORY_TABLES, message: 'Ask through src/accounts/directory-port.js.' }
              ]
            }
          ]
        }
      }
    })
)

export default [
  { ignores: ['node_modules', 'data', 'coverage', 'test/fixtures'] },
  ...neostandard({ noStyle: true, noJsx: true }),
  jsdoc.configs['flat/recommended-typescript-flavor-error'],
  {
    languageOptions: { ecmaVersion: 2026, sourceType: 'module' },
    rules: {
      'no-console': 'error',
      curly: 'off',
      'no-restricted-properties': ['error', ...clockAndRandom],
      'import-x/no-default-export': 'off',
      'jsdoc/require-jsdoc': [
        'error',
        { publicOnly: true, require: { ClassDeclaration: true, MethodDefinition: true } }
      ],
      'jsdoc/require-returns': 'off',
      'jsdoc/require-param-description': 'off',
      'jsdoc/require-returns-description': 'off',
      'jsdoc/require-property-description': 'off',
      'jsdoc/reject-any-type': 'off',
      'jsdoc/reject-function-type': 'off',
      'jsdoc/tag-lines': 'off',
      'jsdoc/require-param': ['error', { checkDestructured: false }],
      'jsdoc/check-param-names': ['error', { checkDestructured: false }],
      'jsdoc/require-yields': 'off',
      'jsdoc/require-throws-type': 'off'
    }
  },
  ...layerRules,
  { files: ['src/store/**'], rules: { 'no-restricted-syntax': ['error', ...bareLimits] } },
  { files: ['src/database/library.js'], rules: { 'no-restricted-imports': 'off' } },
  {
    files: [
      'src/support/clock.js',
      'src/main.js',
      'config/**',
      'test/**',
      'benchmarks/**',
      '*.config.js'
    ],
    rules: { 'no-restricted-properties': 'off', 'no-console': 'off', 'jsdoc/require-jsdoc': 'off' }
  },
  {
    files: ['src/admin/dashboard/**'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...['document', 'window', 'location', 'sessionStorage', 'fetch', 'getComputedStyle'],
          ...['Element', 'Node', 'ResizeObserver']
        ].map((name) => [name, 'readonly'])
      )
    },
    // uPlot's class is written in small letters.
    rules: { 'new-cap': 'off' }
  },
  { files: ['src/cli/**'], rules: { 'no-console': 'off' } }
]
