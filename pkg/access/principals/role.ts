import type { OrgRole, SystemRole } from '../http/caller.ts';

export type RoleName = SystemRole | OrgRole;

/** A role of users; there are only these six. */
export interface AccessRole {
  readonly id: string;
  readonly name: RoleName;
  readonly display_name: string;
  readonly scope: 'system' | 'org';
  readonly builtin: true;
  /** What it permits, for display; `*` is everything. */
  readonly permissions: readonly string[];
}

/** Permissions of every user on their own data. */
const own = ['profile', 'access-keys', 'sessions', 'personal-tokens'];
const reading = ['users.view', 'orgs.view', 'role-bindings.view', 'audits.view'];

const builtin = (n: number, name: RoleName, display_name: string, permissions: readonly string[]): AccessRole => ({
  id: `00000000-0000-0000-0000-00000000000${n}`,
  name,
  display_name,
  scope: name.startsWith('System') ? 'system' : 'org',
  builtin: true,
  permissions,
});

/** Ordered by id; the ids are those of JumpServer. */
export const roles: readonly AccessRole[] = [
  builtin(1, 'SystemAdmin', 'System administrator', ['*']),
  builtin(2, 'SystemAuditor', 'System auditor', [...reading, ...own]),
  builtin(3, 'SystemUser', 'User', own),
  builtin(5, 'OrgAdmin', 'Organization administrator', [
    ...reading,
    'users.create',
    'role-bindings.create',
    'role-bindings.delete',
  ]),
  builtin(6, 'OrgAuditor', 'Organization auditor', reading),
  builtin(7, 'OrgUser', 'Organization user', ['orgs.view']),
];

/** Finds by id, or by name, case-insensitive. */
export function findRole(text: string): AccessRole | undefined {
  const key = text.toLowerCase();
  return roles.find(({ id, name }) => id === key || name.toLowerCase() === key);
}

/** The form in user records. */
export function presentRole(role: RoleName): Pick<AccessRole, 'id' | 'name' | 'display_name'> {
  const { id, name, display_name } = findRole(role)!;
  return { id, name, display_name };
}
