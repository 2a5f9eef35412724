import { describe, expect, it } from '@jest/globals';
import { Violations } from './violation.ts';

describe('Violations', () => {
  it('keeps tolerated ones apart, also when there are many of their rule', () => {
    const violations = new Violations(/of the former primary$/);
    for (let i = 0; i < 50; i += 1)
      violations.report('read-stale', () => ({ text: `read ${i} of the former primary`, records: [] }));
    violations.report('read-stale', () => ({ text: 'a read of the primary', records: [] }));
    expect(violations.list.map(({ text }) => text)).toEqual(['a read of the primary']);
    expect(violations.counts.get('read-stale')).toBe(1);
    expect(violations.tolerated).toHaveLength(50);
  });

  it('counts all of a rule, and keeps only the first ones', () => {
    const violations = new Violations();
    for (let i = 0; i < 50; i += 1) violations.report('read-stale', () => ({ text: `read ${i}`, records: [] }));
    expect(violations.counts.get('read-stale')).toBe(50);
    expect(violations.list).toHaveLength(20);
    expect(violations.list.at(-1)?.text).toBe('read 19');
  });
});
