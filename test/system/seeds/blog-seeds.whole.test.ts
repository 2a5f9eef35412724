import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SeededBlogs } from './seeded-blogs.ts';
import { parseSeedsOptions } from './seeds-options.ts';

/** `make seeds` runs ten thousand. */
const runs = 8;
let servers: SeededBlogs[] = [];

beforeAll(async () => {
  servers = await Promise.all(Array.from({ length: 2 }, () => SeededBlogs.start()));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

test(`the sample's controllers are correct under ${runs} seeds`, async () => {
  let seed = 0;
  const work = async (server: SeededBlogs): Promise<void> => {
    while (seed < runs) {
      seed += 1;
      await server.run(seed);
    }
  };
  await Promise.all(servers.map(work));
});

test('options', () => {
  expect(parseSeedsOptions(['--seed=5', '--runs=1'])).toEqual({ runs: 1, seed: 5, concurrency: 8 });
  expect(() => parseSeedsOptions(['--runs=many'])).toThrow('--runs must be a whole number');
  expect(() => parseSeedsOptions(['--what=1'])).toThrow(/--what/);
});
