import { get } from '../../harness/wire/wire-request.ts';
import { percent, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import type { FuzzTargets } from '../fuzz-targets.ts';
import { hostileText, mutateText } from './hostile-text.ts';

type Token = Record<string, unknown>;

const numbers = [0, -1, 1, 1.5, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e300, -0];

function forgedValue(random: SeededRandom): unknown {
  return random.one<unknown>(
    () => random.pick(numbers),
    () => hostileText(random),
    () => null,
    () => true,
    () => [],
    () => ({}),
    () => [hostileText(random)],
    () => [[[]]],
    () => ({ __proto__: 1, length: 3 }),
  );
}

/** A server's token with some members changed, so that it still parses. */
function forge(random: SeededRandom, token: string): string {
  const value = JSON.parse(Buffer.from(token, 'base64url').toString()) as Token;
  for (let i = random.between(1, 2); i > 0; i -= 1) {
    const name = random.pick([...Object.keys(value), 'total', '__proto__', 'x']);
    const keys = value['keys'];
    if (name === 'keys' && Array.isArray(keys) && random.chance(0.7))
      value['keys'] = keys.map((key) => (random.chance(0.6) ? forgedValue(random) : (key as unknown)));
    else value[name] = forgedValue(random);
  }
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function tokenFor(random: SeededRandom, fixtures: FuzzTargets): { search: string; token: string } {
  const { search, token } = random.pick(fixtures.continueTokens);
  const mutated = random.one(
    () => token,
    () => forge(random, token),
    () => forge(random, token),
    () => mutateText(random, token),
    () => Buffer.from(mutateText(random, Buffer.from(token, 'base64url').toString())).toString('base64url'),
    () => Buffer.from(hostileText(random)).toString('base64url'),
    () => Buffer.from('['.repeat(random.below(40_000))).toString('base64url'),
    () => hostileText(random),
  );
  return { search: random.chance(0.9) ? search : random.pick(fixtures.continueTokens).search, token: mutated };
}

/** Server tokens, changed and forged: they are not signed, so every part is client input. */
export const continueTokens: AttackArea = {
  name: 'continue tokens',
  weight: 6,
  generate(random, fixtures) {
    const { search, token } = tokenFor(random, fixtures);
    const target = `${random.chance(0.95) ? fixtures.posts : fixtures.notes}?limit=${random.pick([1, 2, 100, 10_001])}&${search}&continue=${percent(token)}`;
    return { changes: 'never', requests: [get(target)] };
  },
};
