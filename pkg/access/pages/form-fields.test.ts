import { describe, expect, test } from '@jest/globals';
import { choiceField, doneNote, field, problemNote, select } from './form-fields.ts';
import type { Html } from './html.ts';

const hostile = `"><script>alert('x')</script>&`;
const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;';

test.each<[string, Html]>([
  ['the value of a field', field({ name: 'a', label: 'A', value: hostile })],
  ['the text of a field of several lines', field({ name: 'a', label: 'A', rows: 3, value: hostile })],
  ['a hint', field({ name: 'a', label: 'A', hint: hostile })],
  ['what is wrong with a field', field({ name: 'a', label: 'A', problems: { a: [hostile] } })],
  ['what is wrong with a form', problemNote({ '': [hostile] })!],
  ['what was done', doneNote(hostile)!],
  ['an option', select({ name: 'a', label: 'A', value: '', options: [[hostile, hostile]] })],
  ['a box', choiceField({ type: 'checkbox', name: 'a', id: 'a', label: hostile, value: hostile, isChecked: false })],
])('%s stays text', (_, { text }) => {
  expect(text).toContain(escaped);
  expect(text).not.toContain('<script');
});

describe('a multi-line field', () => {
  test('keeps an empty first line: a browser drops the line end that follows the tag', () => {
    expect(field({ name: 'a', label: 'A', rows: 3, value: '\nfirst' }).text).toContain('>\n\nfirst</textarea>');
  });
});
