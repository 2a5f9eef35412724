import { hostileText } from '../../areas/hostile-text.ts';
import { json } from '../../../harness/wire/wire-request.ts';
import { wellFormed, type AttackArea, type FuzzCase } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import { asCaller, anyCaller, bodyOf, headerText, loginPath } from './requests.ts';

const paths = [loginPath, loginPath.slice(0, -1), '/api/v1/authentication/tokens/'];
const names = [
  'admin',
  'ADMIN',
  ' admin ',
  'nobody',
  'signer@fuzz.example',
  '@',
  'a:b',
  'user:admin',
  'ip:127.0.0.1',
  'ａｄｍｉｎ',
];

function username(random: SeededRandom): string {
  return random.one(
    () => random.pick(names),
    () => `u${random.below(1_000_000)}`,
    () => wellFormed(hostileText(random)),
  );
}

/** Logins that are wrong, malformed or another user's; and valid ones in between, which must still succeed. */
export const logins: AttackArea<AccessUsers> = {
  name: 'access logins',
  weight: 2,
  generate(random, fixtures) {
    const target = random.pick(paths);
    const password = wellFormed(hostileText(random));
    const fields = random.one<Record<string, unknown>>(
      () => ({ username: username(random), password }),
      () => ({ username: username(random) }),
      () => ({
        username: username(random),
        password,
        public_key: 'x',
        code: '1',
        [wellFormed(hostileText(random))]: 1,
      }),
      () => ({ username: random.pick([1, null, [], {}, true, 1e300]), password: random.pick([1, null, [], {}, 'x']) }),
    );
    const request = {
      method: random.pick(['POST', 'POST', 'POST', 'POST', 'GET', 'PUT', 'DELETE']),
      target,
      isAnonymous: true,
      ...bodyOf(random, fields),
    };
    const right = json('POST', target, {
      username: random.pick(['reader', ' READER', 'reader@fuzz.example']),
      password: fixtures.login.password,
    });
    return random.one<Omit<FuzzCase, 'area'>>(
      () => refused({ changes: 'never', requests: [request] }),
      () =>
        refused({
          changes: 'never',
          requests: [
            {
              ...request,
              headers: [...request.headers, ['X-Forwarded-For', headerText(random)], ['Origin', 'http://evil.example']],
            },
          ],
        }),
      () => refused({ changes: 'never', requests: [asCaller(request, anyCaller(random, fixtures))] }),
      () => ({
        changes: 'maybe',
        requests: [{ ...right, isAnonymous: true }],
        judge: ([answer]) =>
          answer === undefined || answer.status === 201 || answer.status === 429
            ? undefined
            : `the right password: ${answer.status} ${answer.body.toString()}`,
      }),
    );
  },
};

function refused(fuzzCase: Omit<FuzzCase, 'area'>): Omit<FuzzCase, 'area'> {
  return {
    ...fuzzCase,
    judge: ([answer]) => (answer !== undefined && answer.status < 400 ? `a wrong login: ${answer.status}` : undefined),
  };
}
