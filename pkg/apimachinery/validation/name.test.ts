import { expect, test } from '@jest/globals';

import type { NameRule } from '../scheme/model.ts';
import { validateName } from './name.ts';

test.each<[NameRule, string[], string[]]>([
  [
    'model',
    ['a', '0', 'a-b', 'a--b', 'a'.repeat(253)],
    ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'ä', 'a\n', 'a'.repeat(254)],
  ],
  ['dns-label', ['a', '1-2', 'a'.repeat(63)], ['', 'a.b', 'a-', 'a'.repeat(64), '\na']],
  [
    'dns-subdomain',
    ['a', 'a.b-c.d', 'posts.blog.example.com', 'a'.repeat(253)],
    ['', '.', 'a.', '.a', 'a..b', 'a-.b', 'a.-b', 'A.b', 'a'.repeat(254), `${'a-'.repeat(126)}!`],
  ],
  ['path-segment', ['a', 'system:view', 'Ä b', '...', 'a'.repeat(253)], ['', '.', '..', 'a/b', '%2e', 'a'.repeat(254)]],
])('%s', (rule, good, bad) => {
  for (const name of good) expect([name, validateName(name, rule)]).toEqual([name, undefined]);
  for (const name of bad) expect([name, validateName(name, rule)]).toEqual([name, expect.any(String)]);
});
