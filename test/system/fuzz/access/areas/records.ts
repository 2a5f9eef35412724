import { hostileText } from '../../areas/hostile-text.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import { caseName, wellFormed, type AttackArea, type FuzzCase } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import {
  anyCaller,
  asCaller,
  bodyOf,
  idText,
  keysPath,
  loginPath,
  orgBindings,
  orgsPath,
  profilePath,
  sessionsPath,
  systemBindings,
  usersPath,
} from './requests.ts';

const text = (random: SeededRandom): string => wellFormed(hostileText(random));

function userFields(random: SeededRandom): Record<string, unknown> {
  const name = caseName(random);
  if (random.chance(0.4))
    return {
      username: name,
      name,
      email: `${name}@fuzz.example`,
      is_active: random.chance(0.5),
      comment: 'x',
      groups: ['a'],
    };
  return {
    username: random.chance(0.7) ? name : text(random),
    name: random.chance(0.7) ? name : text(random),
    email: random.pick([`${name}@fuzz.example`, `${name}@fuzz.example`, text(random), `${text(random)}@x`]),
    // A valid one costs as much as a login.
    password: random.pick([
      undefined,
      undefined,
      undefined,
      '',
      'short',
      'password1',
      text(random),
      `${name}-is-hard-to-guess`,
    ]),
    is_active: random.pick([undefined, true, false, 'true', 1, null, text(random)]),
    date_expired: random.pick([
      undefined,
      null,
      '2030-01-01T00:00:00Z',
      '2020-01-01',
      '275760-09-13T00:00:00Z',
      text(random),
      1,
    ]),
    comment: random.pick([undefined, text(random), 'x'.repeat(2001)]),
    groups: random.pick([
      undefined,
      [],
      ['a'],
      ['system:masters'],
      ['org:x'],
      [text(random)],
      text(random),
      Array.from({ length: 101 }, (_, i) => `g${i}`),
    ]),
    system_roles: random.pick([undefined, ['SystemAdmin'], text(random)]),
  };
}

function orgFields(random: SeededRandom): Record<string, unknown> {
  return {
    name: random.one(
      () => `o${random.below(20)}`,
      () => `o${random.below(20)}`,
      () => text(random),
    ),
    comment: random.pick([undefined, text(random)]),
  };
}

function bindingFields(random: SeededRandom): Record<string, unknown> {
  const roles = [1, 2, 3, 4, 5, 6, 7].map((number) => `00000000-0000-0000-0000-00000000000${number}`);
  const user = random.one(
    () => caseName(random),
    () => text(random),
    () => '00000000-0000-0000-0000-000000000001',
  );
  return {
    user,
    role: random.one(
      () => random.pick(roles),
      () => text(random),
    ),
    org: random.pick([undefined, 'kept', '00000000-0000-0000-0000-000000000002', text(random)]),
  };
}

function keyFields(random: SeededRandom): Record<string, unknown> {
  const entries = [
    '*',
    '10.0.0.0/8',
    '10.0.0.1-10.0.0.9',
    '::1',
    '::/0',
    '10.0.0.0/33',
    '1',
    '',
    '10.0.0.9-10.0.0.1',
    '0/0',
    text(random),
  ];
  return {
    ip_group: random.one<string | string[]>(
      () => random.some(4, () => random.pick(entries)),
      () => random.pick(entries),
      () => Array.from({ length: 101 }, () => '*'),
    ),
    is_active: random.pick([undefined, true, false, 'x', null]),
  };
}

/** Never a correct change: the user must be able to continue. */
function passwordFields(random: SeededRandom): Record<string, unknown> {
  const password = text(random);
  return {
    old_password: random.pick(['wrong', text(random), undefined]),
    new_password: password,
    new_password_again: random.pick([password, 'x', undefined]),
  };
}

type Fields = (random: SeededRandom) => Record<string, unknown>;
const collections: readonly [string, Fields][] = [
  [usersPath, userFields],
  [usersPath, userFields],
  [orgsPath, orgFields],
  [systemBindings, bindingFields],
  [orgBindings, bindingFields],
  [keysPath, keyFields],
];

/** Never writes to users that the run needs. */
function write(random: SeededRandom): WireRequest {
  const [collection, fields] = random.pick(collections);
  const one = `${collection}${idText(random)}/`;
  return random.one<WireRequest>(
    () => ({ method: 'POST', target: collection, ...bodyOf(random, fields(random)) }),
    () => ({ method: 'POST', target: collection, ...bodyOf(random, fields(random)) }),
    () => ({ method: random.pick(['PUT', 'PATCH']), target: one, ...bodyOf(random, fields(random)) }),
    () => ({ method: 'DELETE', target: one, headers: [] }),
    () => ({ method: random.pick(['PUT', 'PATCH']), target: `${usersPath}${idText(random)}/unblock/`, headers: [] }),
    () => ({
      method: random.pick(['PUT', 'PATCH']),
      target: profilePath,
      ...bodyOf(random, { ...userFields(random), username: undefined, is_active: undefined }),
    }),
    () => ({ method: 'PUT', target: `${profilePath}password/`, ...bodyOf(random, passwordFields(random)) }),
    () => ({ method: 'DELETE', target: `${sessionsPath}${idText(random)}/`, headers: [] }),
    () => ({
      method: random.pick(['POST', 'PUT', 'DELETE', 'PATCH']),
      target: random.pick([collection, one, loginPath, profilePath]),
      headers: [['Content-Type', 'application/json']],
      body: Buffer.from('{}'),
    }),
  );
}

/** Users may change their own records, whatever their rank. */
const own = [profilePath, keysPath, sessionsPath, loginPath];

/**
 * Bodies of every type for everything that can be created, changed and deleted; by users with and without the
 * permission.
 */
export const records: AttackArea<AccessUsers> = {
  name: 'access records',
  weight: 12,
  generate(random, fixtures) {
    const request = write(random);
    const organization: WireRequest['headers'] = random.chance(0.3)
      ? [['X-SVC-ORG', random.pick(['ROOT', 'kept', 'nope', '', 'a,b'])]]
      : [];
    const caller = anyCaller(random, fixtures);
    const sent = asCaller({ ...request, headers: [...organization, ...request.headers] }, caller);
    const mayWrite = caller.rank === 'administrator' || own.some((path) => request.target.startsWith(path));
    const another = asCaller(
      {
        method: random.pick(['PUT', 'PATCH', 'DELETE', 'GET']),
        target: `${keysPath}${fixtures.accessKey.id}/`,
        ...bodyOf(random, keyFields(random)),
      },
      fixtures.credentials[random.pick([0, 2, 3, 4])]!,
    );
    return random.one<Omit<FuzzCase, 'area'>>(
      ...Array.from(
        { length: 9 },
        () => (): Omit<FuzzCase, 'area'> =>
          mayWrite ? { changes: 'maybe', requests: [sent] } : refused([sent], 'without the right to'),
      ),
      () => refused([another], "on another's access key"),
    );
  },
};

function refused(requests: WireRequest[], what: string): Omit<FuzzCase, 'area'> {
  return {
    changes: 'never',
    requests,
    judge: ([answer]) => (answer !== undefined && answer.status < 400 ? `${what}: ${answer.status}` : undefined),
  };
}
