import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { html, type HtmlPart } from './html.ts';

describe('html', () => {
  test.each<[string, HtmlPart, string]>([
    ['a text', `<a href="x" title='y'>&</a>`, '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;&lt;/a&gt;'],
    ['a number', 5, '5'],
    ['nothing', undefined, ''],
    ['a condition that does not hold', false, ''],
    ['markup', html`<b>${'<'}</b>`, '<b>&lt;</b>'],
    ['several', [html`<i></i>`, '<', [1, undefined]], '<i></i>&lt;1'],
  ])('%s', (_reason, part, expected) => {
    expect(html`<p title="${part}">`.text).toBe(`<p title="${expected}">`);
  });

  test('every text is escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) =>
        expect(html`${text}`.text).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/),
      ),
    );
  });
});
