import { useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { FailureNote } from '../interface/failure-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useTitle } from '../interface/use-title.ts';
import { formatDate, texts } from '../texts/texts.ts';
import { shownPage, usersPath, type UserRecord } from './access-api.ts';
import { userLink } from './access-links.ts';
import { missingForOrgAdmin, missingForReader, type AccessRights } from './access-rights.ts';
import { MissingNote, OrgChooser, useChosenOrg, useOrgs } from './org-chooser.tsx';
import { Paging, RecordTable } from './record-table.tsx';
import { RecordsHead } from './records-head.tsx';
import { FilterForm } from './filter-form.tsx';
import { useRecords } from './use-records.ts';
import { NewUserDialog } from './user-forms.tsx';
import { useViewParams } from './view-params.ts';

const words = texts.access.users;

/** The users of an organization, or of all. */
export function UsersPage() {
  useTitle(words.title);
  const { org, rights } = useChosenOrg();
  if (rights === undefined) return <p role="status">{texts.loading}</p>;
  if (org === undefined)
    return (
      <>
        <h1>{words.title}</h1>
        <MissingNote rule={texts.access.needs.reader('users.view')} />
      </>
    );
  return <UsersOfOrg org={org} rights={rights} />;
}

function UsersOfOrg({ org, rights }: { org: string; rights: AccessRights }) {
  const view = useViewParams();
  const [, navigate] = useLocation();
  const [dialog, setDialog] = useState<ReactNode>(undefined);
  const orgName = useOrgs().find(({ id }) => id === org)?.name ?? org;
  const missing = missingForReader(rights, 'users.view', org);
  const query = {
    oid: org,
    search: view.get('search'),
    is_active: view.get('is_active'),
    order: view.get('order'),
  };
  const { value, failure } = useRecords<UserRecord>(missing === undefined ? usersPath : undefined, query, view.page);
  const missingToCreate = missingForOrgAdmin(rights, 'users.create', org);
  const create = (): void => {
    if (missingToCreate !== undefined) return;
    setDialog(
      <NewUserDialog
        org={org}
        orgName={orgName}
        mayGiveGroups={rights.isAdministrator}
        onCreated={({ id }) => navigate(userLink(id, org))}
        onClose={() => setDialog(undefined)}
      />,
    );
  };
  useShortcut('n', create);
  return (
    <>
      <RecordsHead
        words={words}
        page={value}
        onCreate={create}
        missingRule={missingToCreate}
        request={shownPage(usersPath, query, view.page)}
      />
      <FilterForm
        before={<OrgChooser org={org} rights={rights} />}
        fields={[
          { name: 'search', label: words.search, kind: 'search' },
          {
            name: 'is_active',
            label: words.state,
            kind: [
              { value: '', label: words.anyState },
              { value: 'true', label: words.active },
              { value: 'false', label: words.inactive },
            ],
          },
        ]}
      />
      {missing === undefined ? undefined : <MissingNote rule={missing} />}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? undefined : (
        <RecordTable
          label={words.title}
          order={view.get('order') || 'name'}
          records={value.results}
          keyOf={({ id }) => id}
          empty={words.none}
          columns={[
            {
              title: words.name,
              order: 'name',
              cell: ({ id, name, username }) => <Link href={userLink(id, org)}>{name || username}</Link>,
            },
            { title: words.username, order: 'username', cell: ({ username }) => username },
            { title: words.email, order: 'email', cell: ({ email }) => email },
            { title: words.state, order: 'is_active', cell: (user) => <UserState user={user} /> },
            { title: words.roles, cell: (user) => roleNames(user).join(', ') },
            {
              title: words.lastLogin,
              order: 'last_login',
              cell: ({ last_login: last }) => (last === null ? words.never : formatDate(last)),
            },
          ]}
        />
      )}
      <Paging page={value} />
      {dialog}
    </>
  );
}

/** Every user has SystemUser, so it says nothing. */
function roleNames({ system_roles: system, org_roles: inOrg }: UserRecord): string[] {
  const names = [...system.filter(({ name }) => name !== 'SystemUser'), ...inOrg].map((role) => role.display_name);
  return [...new Set(names)];
}

export function UserState({ user }: { user: UserRecord }) {
  const state = user.is_active ? (user.is_expired ? 'expired' : 'active') : 'inactive';
  return <span className={`state ${state === 'active' ? 'good' : 'bad'}`}>{words[state]}</span>;
}
