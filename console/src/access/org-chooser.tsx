import { useCallback } from 'react';
import { texts } from '../texts/texts.ts';
import { maxPageSize, orgsPath, readRecords, rootOrg, type OrgRecord } from './access-api.ts';
import { useAccessRights, type AccessRights } from './access-rights.ts';
import { useReading } from './use-records.ts';
import { useViewParams } from './view-params.ts';

const none: readonly OrgRecord[] = [];

/** The organizations that the user may see, by name; of very many the first. */
export function useOrgs(): readonly OrgRecord[] {
  const read = useCallback(
    (signal: AbortSignal) => readRecords<OrgRecord>(orgsPath, { order: 'name' }, { limit: maxPageSize, signal }),
    [],
  );
  return useReading(read).value?.results ?? none;
}

/**
 * The organization of the URL; else all of them for those who may read all, else the first whose users the user may
 * read. Undefined until the rights are known, and for those who may read none.
 */
export function useChosenOrg(): { org: string | undefined; rights: AccessRights | undefined } {
  const rights = useAccessRights();
  const view = useViewParams();
  if (rights === undefined) return { org: undefined, rights };
  const readable = rights.readableOrgs;
  const named = view.get('org');
  return { org: named === '' ? (readable === undefined ? rootOrg : readable[0]) : named, rights };
}

/** Chooses among the organizations that the user may read. */
export function OrgChooser({ org, rights }: { org: string; rights: AccessRights }) {
  const view = useViewParams();
  const orgs = useOrgs();
  const readable = rights.readableOrgs;
  const shown = orgs.filter(({ id }) => readable === undefined || readable.includes(id));
  return (
    <label>
      {texts.access.organization}
      <select value={org} onChange={(event) => view.set({ org: event.target.value })}>
        {shown.some(({ id }) => id === org) ? undefined : <option value={org}>{org}</option>}
        {shown
          .toSorted((a, b) => Number(b.is_root) - Number(a.is_root))
          .map(({ id, name, is_root: isRoot }) => (
            <option key={id} value={id}>
              {isRoot ? texts.access.allOrganizations : name}
            </option>
          ))}
      </select>
    </label>
  );
}

/** Says what the user may not read here, and which rule would be needed. */
export function MissingNote({ rule }: { rule: string }) {
  return (
    <p className="note warning" role="note">
      {texts.navigation.noRight(rule)}
    </p>
  );
}
