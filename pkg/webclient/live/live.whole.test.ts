import { expect, test } from '@jest/globals';
import { definePosts, postType, startTestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import { runLive } from '../webclienttest/live-run.ts';
import { SeededRandom } from '../../testenv/faults/seeded-random.ts';

const runs = 60;
const sideBySide = 6;

test('a live list equals the server after faults, whatever they are', async () => {
  const env = await startTestEnv({ replicas: 2 });
  await definePosts(env);
  const posts = connect({ url: env.url, credential: env.token }).resource(postType);
  const seeds = Array.from({ length: runs }, (_, i) => 1000 + i);
  const follow = async (): Promise<void> => {
    for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) {
      const random = new SeededRandom(seed);
      const rate = (most: number): number => random.next() * most;
      const rates = {
        refused: rate(0.3),
        lostAnswer: rate(0.3),
        expired: rate(0.3),
        halved: rate(0.3),
        frozen: rate(0.1),
      };
      const { held, stored, followed, watched, reversals } = await runLive({ env, posts, seed, writes: 60, rates });
      expect({ seed, held, followed, reversals }).toEqual({ seed, held: stored, followed: watched, reversals: [] });
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, follow));
  await env.stop();
});
