import { expect, test } from '@jest/globals';
import { namesIn } from './promql.ts';

test.each([
  ['up == 0', ['up'], []],
  [
    'sum by (job, le) (rate(a_bucket{le="0.5", verb=~"get|list"}[5m])) / on (job) b_total offset 10m',
    ['a_bucket', 'b_total'],
    ['le', 'verb', 'job'],
  ],
  [
    'histogram_quantile(0.99, sum(rate(x{y!="z"}[$__rate_interval]))) > 14.4 * 0.001 and svc:ratio:rate5m',
    ['x', 'svc:ratio:rate5m'],
    ['y'],
  ],
  ['(a - (b offset 9m)) or vector(0) unless absent(c{})', ['a', 'b', 'c'], []],
])('%s', (expression, metrics, labels) => {
  expect(namesIn(expression)).toEqual({ metrics, labels });
});
