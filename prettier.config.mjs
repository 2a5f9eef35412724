export default {
  // Its parsers need less time than those of prettier itself.
  plugins: ['@prettier/plugin-oxc'],
  printWidth: 120,
  singleQuote: true,
  // What stands in a template is the text that a browser, PostgreSQL or a reader gets: not a space of it is prettier's.
  embeddedLanguageFormatting: 'off',
  // A page's sentences are wrapped; a text of YAML, such as a command, stays on its line.
  overrides: [{ files: '*.md', options: { proseWrap: 'always' } }],
};
