import { useEffect } from 'react';
import { Observable, useObservable } from '../server/observable.ts';
import { rightsVersion } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';
import { readRecord, sessionsPath, type UserRecord } from './access-api.ts';

/** What the user may do in access management. The six roles are built in, so the page knows what each permits. */
export class AccessRights {
  readonly user: UserRecord;

  constructor(user: UserRecord) {
    this.user = user;
  }

  get isAdministrator(): boolean {
    return this.#hasSystemRole('SystemAdmin');
  }

  /** May read users, roles and audit of all organizations. */
  get isAuditor(): boolean {
    return this.isAdministrator || this.#hasSystemRole('SystemAuditor');
  }

  /** The organizations whose users, roles and audit the user may read; undefined: all. */
  get readableOrgs(): readonly string[] | undefined {
    if (this.isAuditor) return undefined;
    const held = this.user.org_roles.filter(({ name }) => name === 'OrgAdmin' || name === 'OrgAuditor');
    return [...new Set(held.map(({ org }) => org!))];
  }

  hasOrgRole(org: string, ...names: readonly string[]): boolean {
    return this.user.org_roles.some((role) => role.org === org && names.includes(role.name));
  }

  #hasSystemRole(name: string): boolean {
    return this.user.system_roles.some((role) => role.name === name);
  }
}

const rights = new Observable<AccessRights | undefined>(undefined);
let asked: number | undefined;

/** Undefined until the server has told: then everything is shown as permitted, and the server decides. */
export function useAccessRights(): AccessRights | undefined {
  const version = useObservable(rightsVersion);
  useEffect(() => void readRights(version), [version]);
  return useObservable(rights);
}

async function readRights(version: number): Promise<void> {
  if (asked === version) return;
  asked = version;
  try {
    const { user } = await readRecord<{ user: UserRecord }>(`${sessionsPath}current/`);
    if (asked === version && JSON.stringify(user) !== JSON.stringify(rights.get()?.user))
      rights.set(new AccessRights(user));
  } catch {
    if (asked === version) asked = undefined;
  }
}

/** What lacks for something that only a system administrator may do; undefined: nothing. */
export function missingForAdministrator(known: AccessRights | undefined, permission: string): string | undefined {
  return known === undefined || known.isAdministrator ? undefined : texts.access.needs.administrator(permission);
}

/** What lacks for something that administrators of the organization may do as well; undefined: nothing. */
export function missingForOrgAdmin(
  known: AccessRights | undefined,
  permission: string,
  org: string,
): string | undefined {
  if (known === undefined || known.isAdministrator || known.hasOrgRole(org, 'OrgAdmin')) return undefined;
  return texts.access.needs.orgAdmin(permission);
}

/** What lacks to read the users, the roles or the audit of an organization; undefined: nothing. */
export function missingForReader(known: AccessRights | undefined, permission: string, org: string): string | undefined {
  if (known === undefined || known.isAuditor || known.hasOrgRole(org, 'OrgAdmin', 'OrgAuditor')) return undefined;
  return texts.access.needs.reader(permission);
}
