import type { SeededRandom } from '../../harness/seeded-random.ts';
import { defaultOrgId, type OrgRole, type Person, type SystemRole } from '../model/person.ts';

/** Groups on the content platform for users and role bindings. */
export const customGroups = ['matrix-red', 'matrix-blue'];
/** A user with spoiled credentials of every kind, and with many permissions, so that a wrong acceptance is visible. */
export const spoilt = 'spoilt';
export const changed = 'changed';

type PersonDefinition = [
  username: string,
  systemRoles: readonly SystemRole[],
  orgRoles: Readonly<Record<string, readonly OrgRole[]>>,
  groups?: readonly string[],
];

/** Users with each role alone, with easily confused combinations, and `chance` random ones. */
export function inventPeople(random: SeededRandom, { a, b }: { a: string; b: string }, chance: number): Person[] {
  const definitions: PersonDefinition[] = [
    ['root', ['SystemAdmin'], {}],
    ['auditor', ['SystemAuditor'], {}],
    ['plain', [], {}],
    ['admin-a', [], { [a]: ['OrgAdmin'] }],
    ['auditor-a', [], { [a]: ['OrgAuditor'] }],
    ['user-a', [], { [a]: ['OrgUser'] }],
    ['admin-b', [], { [b]: ['OrgAdmin'] }],
    ['admin-default', [], { [defaultOrgId]: ['OrgAdmin'] }],
    ['user-default', [], { [defaultOrgId]: ['OrgUser'] }, ['matrix-red']],
    ['admin-a-user-b', [], { [a]: ['OrgAdmin'], [b]: ['OrgUser'] }],
    ['auditor-a-admin-default', [], { [a]: ['OrgAuditor'], [defaultOrgId]: ['OrgAdmin'] }, ['matrix-blue']],
    ['auditor-and-admin-a', ['SystemAuditor'], { [a]: ['OrgAdmin'] }],
    [spoilt, ['SystemAdmin'], {}],
    [changed, ['SystemAdmin'], {}],
    ['disabled-root', ['SystemAdmin'], {}],
    ['expired-root', ['SystemAdmin'], {}],
    ['disabled-admin-a', [], { [a]: ['OrgAdmin'] }],
    ...Array.from({ length: chance }, (_, i): PersonDefinition => [
      `somebody-${i}`,
      random.chance(0.1) ? [random.pick(['SystemAdmin', 'SystemAuditor'] as const)] : [],
      randomOrgRoles(random, [a, b, defaultOrgId]),
      customGroups.filter(() => random.chance(0.3)),
    ]),
  ];
  return definitions.map(([username, systemRoles, orgRoles, groups = []]) => ({
    username,
    systemRoles: ['SystemUser', ...systemRoles],
    orgRoles,
    groups,
    isAlive: !/^(?:disabled|expired)-/.test(username),
  }));
}

export function inventTargets({ a, b }: { a: string; b: string }): { inA: Person; inB: Person } {
  const member = (username: string, org: string): Person => ({
    username,
    systemRoles: ['SystemUser'],
    orgRoles: { [org]: ['OrgUser'] },
    groups: [],
    isAlive: true,
  });
  return { inA: member('target-a', a), inB: member('target-b', b) };
}

function randomOrgRoles(random: SeededRandom, orgs: readonly string[]): Record<string, readonly OrgRole[]> {
  const roles = (): OrgRole[] => (['OrgAdmin', 'OrgAuditor', 'OrgUser'] as const).filter(() => random.chance(0.3));
  return Object.fromEntries(orgs.map((org) => [org, roles()] as const).filter(([, held]) => held.length > 0));
}
