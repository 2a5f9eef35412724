import { hostileText, mutateText } from '../../areas/hostile-text.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import { malformedEscape, query, type AttackArea } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import {
  anyCaller,
  asCaller,
  headerText,
  idText,
  keysPath,
  orgBindings,
  orgsPath,
  profilePath,
  sessionsPath,
  systemBindings,
  usersPath,
} from './requests.ts';

const counts = [
  '0',
  '1',
  '2',
  '20',
  '1000',
  '1001',
  '-1',
  '',
  '01',
  '+1',
  '1.0',
  '1e3',
  ' 1',
  '0x1',
  '999999999999999',
  '9999999999999999',
  '9007199254740993',
];
const fields = [
  'id',
  'username',
  'name',
  'email',
  'is_active',
  'search',
  'q',
  'user',
  'role',
  'org',
  'scope',
  'builtin',
  'comment',
  'date_from',
  'date_to',
  'datetime',
  'type',
  'action',
  'resource_type',
  'status',
  'is_success',
  'remote_addr',
];
const orders = [
  'name',
  '-name',
  '--name',
  'username',
  'date_joined',
  '-date_joined',
  'last_login',
  'date_expired',
  '-datetime',
  'password_hash',
  'name,id',
  'name desc',
  "name'; --",
  '1',
  '-',
  'date_created',
  'is_active',
  '__proto__',
  'constructor',
];
const values = [
  'true',
  'false',
  'True',
  '1',
  'null',
  '2026-01-01',
  '2026-01-01T00:00:00Z',
  '0000-00-00',
  '99999-01-01T00:00:00Z',
  '00000000-0000-0000-0000-000000000001',
  '%',
  '_',
  '\\',
  "'",
  'admin',
];
/** Logs grow during the run, so their lists are not compared. */
const logs = ['/api/v1/audits/login-logs/', '/api/v1/audits/operate-logs/', '/api/v1/audits/my-login-logs/'];

function parameter(random: SeededRandom): [string, string] {
  return random.one<[string, string]>(
    () => [random.pick(['limit', 'offset']), random.chance(0.8) ? random.pick(counts) : hostileText(random)],
    () => ['order', random.chance(0.8) ? random.pick(orders) : hostileText(random)],
    () => [random.pick(fields), random.chance(0.5) ? random.pick(values) : hostileText(random)],
    () => [random.pick(fields), hostileText(random)],
    () => [
      'oid',
      random.one(
        () => random.pick(['ROOT', 'DEFAULT', 'kept', '', 'root']),
        () => hostileText(random),
      ),
    ],
    () => [hostileText(random), hostileText(random)],
  );
}

function organization(random: SeededRandom): WireRequest['headers'] {
  return random.one<WireRequest['headers']>(
    () => [],
    () => [],
    () => [
      [
        'X-SVC-ORG',
        random.one(
          () => random.pick(['ROOT', 'DEFAULT', 'kept', 'a,b', '00000000-0000-0000-0000-000000000000', '__proto__']),
          () => headerText(random),
        ),
      ],
    ],
    () => [
      ['X-SVC-ORG', 'ROOT'],
      ['X-SVC-ORG', 'DEFAULT'],
    ],
    () => [['Cookie', `X-SVC-ORG=${headerText(random)}`]],
  );
}

/** Lists and records that the user may see: pages, orders, filters, organizations. */
export const queries: AttackArea<AccessUsers> = {
  name: 'access queries',
  weight: 10,
  generate(random, fixtures) {
    const list = random.chance(0.2);
    const path = list
      ? random.pick(logs)
      : random.pick([
          usersPath,
          usersPath,
          orgsPath,
          `${orgsPath}current/`,
          '/api/v1/rbac/roles/',
          systemBindings,
          orgBindings,
          keysPath,
          sessionsPath,
          profilePath,
          `${usersPath}${random.pick(fixtures.users)}/`,
          `${orgsPath}${random.pick(fixtures.organizations)}/`,
          `${random.pick([usersPath, orgsPath, systemBindings, orgBindings, keysPath, '/api/v1/rbac/roles/'])}${idText(random)}/`,
        ]);
    const parameters = random.some(random.chance(0.02) ? 200 : 4, () => parameter(random));
    const search = query(list ? [['limit', '7'], ...parameters.filter(([name]) => name !== 'limit')] : parameters);
    const raw = random.chance(0.1) ? mutateText(random, search).replaceAll(/[^\x21-\x7e]|#/g, '') : search;
    const target = list || raw === '' || raw.startsWith('?') ? `${path}${list ? search : raw}` : `${path}?${raw}`;
    const accept: WireRequest['headers'] = random.chance(0.2)
      ? [['Accept', random.pick(['text/html', '*/*', 'application/xml', headerText(random)])]]
      : [];
    return {
      changes: 'never',
      requests: [
        asCaller(
          {
            method: random.chance(0.95) ? 'GET' : 'HEAD',
            target: random.chance(0.03) ? malformedEscape(random, target) : target,
            headers: [...organization(random), ...accept],
          },
          anyCaller(random, fixtures),
        ),
      ],
    };
  },
};
