export default {
  printWidth: 120,
  singleQuote: true,
  proseWrap: 'always',
  overrides: [{ files: '*.md', options: { embeddedLanguageFormatting: 'off' } }],
};
