import { expect, test } from '@jest/globals';
import { Histogram, Registry } from 'prom-client';
import { SeriesHistogram } from './series-histogram.ts';
import { registerReading } from './register-reading.ts';

test('has the output of a histogram of prom-client', async () => {
  const options = { name: 'a_seconds', help: 'About a.', labelNames: ['kind'] as const, buckets: [0.1, 1] };
  const [ours, theirs] = [new Registry(), new Registry()];
  const series = new SeriesHistogram({ ...options, registry: ours }).series({ kind: 'x' });
  const histogram = new Histogram({ ...options, labelNames: ['kind'], buckets: [0.1, 1], registers: [theirs] });
  for (const value of [0.05, 0.1, 0.5, 3]) {
    series.observe(value);
    histogram.observe({ kind: 'x' }, value);
  }
  const lines = async (registry: Registry): Promise<string[]> =>
    (await registry.metrics()).replaceAll(/\{le="([^"]+)",kind="x"\}/g, '{kind="x",le="$1"}').split('\n');
  expect((await lines(ours)).toSorted()).toEqual((await lines(theirs)).toSorted());
});

test('a collection has the current series, and no removed ones', async () => {
  const registry = new Registry();
  let models = ['a', 'b'];
  registerReading({
    registry,
    name: 'svc_objects',
    help: 'Objects.',
    type: 'gauge',
    read: () => models.map((resource, value) => ({ labels: { resource }, value })),
  });
  registerReading({ registry, name: 'svc_models', help: 'Models.', type: 'gauge', read: () => models.length });
  expect(await registry.metrics()).toContain('svc_objects{resource="b"} 1');
  models = ['a'];
  expect(await registry.metrics()).toBe(
    '# HELP svc_objects Objects.\n# TYPE svc_objects gauge\nsvc_objects{resource="a"} 0\n\n# HELP svc_models Models.\n# TYPE svc_models gauge\nsvc_models 1\n',
  );
});
