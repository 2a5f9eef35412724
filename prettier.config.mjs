export default {
  printWidth: 120,
  singleQuote: true,
  proseWrap: 'always',
  // What stands in a template is the text that a browser, PostgreSQL or a reader gets: not a space of it is prettier's.
  embeddedLanguageFormatting: 'off',
};
