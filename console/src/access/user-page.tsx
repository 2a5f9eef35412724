import { useCallback, useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { formatDate, texts } from '../texts/texts.ts';
import {
  bindingsPath,
  maxPageSize,
  onePath,
  readRecords,
  rootOrg,
  send,
  shownRecord,
  usersPath,
  type RoleBinding,
  type UserRecord,
} from './access-api.ts';
import { changesLink, loginsLink, usersLink } from './access-links.ts';
import { missingForAdministrator, missingForOrgAdmin, useAccessRights, type AccessRights } from './access-rights.ts';
import { ConfirmDialog, type Question } from '../interface/confirm-dialog.tsx';
import { useOrgs } from './org-chooser.tsx';
import { GiveRoleDialog } from './org-forms.tsx';
import { PlatformGrantsOf } from './platform-grants.tsx';
import { RoleBindingTable } from './role-bindings.tsx';
import { useReading, useRecord } from './use-records.ts';
import { EditUserDialog, PasswordDialog } from './user-forms.tsx';
import { UserState } from './users-page.tsx';
import { useViewParams } from './view-params.ts';

const words = texts.access.users;

/** One user: who it is, which roles it has, and what these permit on the platform. */
export function UserPage({ id }: { id: string }) {
  const view = useViewParams();
  const rights = useAccessRights();
  const org = rights?.isAuditor === false ? view.get('org') : rootOrg;
  const path = rights === undefined ? undefined : onePath(usersPath, id);
  const { value: user, failure, reload } = useRecord<UserRecord>(path, { oid: org });
  useTitle(user?.name ?? words.title);
  return (
    <>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {user === undefined || rights === undefined ? (
        failure === undefined && <p role="status">{texts.loading}</p>
      ) : (
        <UserView user={user} org={org} rights={rights} onChanged={reload} />
      )}
    </>
  );
}

interface UserViewProps {
  user: UserRecord;
  org: string;
  rights: AccessRights;
  onChanged: () => void;
}

function UserView({ user, org, rights, onChanged }: UserViewProps) {
  const [note, setNote] = useState('');
  return (
    <>
      <div className="page-head">
        <h1>{user.name || user.username}</h1>
        <UserState user={user} />
        <SnippetAction request={shownRecord(onePath(usersPath, user.id), { oid: org })} />
      </div>
      <UserActions user={user} rights={rights} onChanged={onChanged} onNote={setNote} />
      <p role="status">{note}</p>
      <UserFacts user={user} />
      <UserRoles user={user} org={org} rights={rights} onChanged={onChanged} />
      <PlatformGrantsOf user={user} org={org} rights={rights} />
      <p>
        <Link href={`${loginsLink}?username=${encodeURIComponent(user.username)}`}>{words.logins}</Link>
        {' · '}
        <Link href={`${changesLink}?username=${encodeURIComponent(user.username)}`}>{words.changes}</Link>
      </p>
    </>
  );
}

interface UserActionsProps extends Omit<UserViewProps, 'org'> {
  onNote: (note: string) => void;
}

function UserActions({ user, rights, onChanged, onNote }: UserActionsProps) {
  const [, navigate] = useLocation();
  const [dialog, setDialog] = useState<ReactNode>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const path = onePath(usersPath, user.id);
  const close = (): void => setDialog(undefined);
  const ask = (question: Question): void => setDialog(<ConfirmDialog question={question} onClose={close} />);
  const missing = missingForAdministrator(rights, 'users.change');
  const missingToDelete = missingForAdministrator(rights, 'users.delete');
  const ofOneself = rights.user.id === user.id ? words.notOneself : undefined;
  const done = (note: string) => (): void => {
    setFailure(undefined);
    onNote(note);
    onChanged();
  };
  const setActive = async (isActive: boolean): Promise<void> => {
    await send('PATCH', path, { is_active: isActive }, { oid: rootOrg });
    done(isActive ? words.activated : words.deactivated)();
  };
  return (
    <>
      <div className="buttons actions">
        <ActionButton
          onAction={() => setDialog(<EditUserDialog user={user} onChanged={done(words.saved)} onClose={close} />)}
          missingRule={missing}
        >
          {words.edit}
        </ActionButton>
        <ActionButton
          onAction={() =>
            setDialog(<PasswordDialog user={user} onChanged={done(words.passwordChanged)} onClose={close} />)
          }
          missingRule={missing}
        >
          {words.setPassword}
        </ActionButton>
        <ActionButton
          onAction={() =>
            void send('PUT', `${path}unblock/`, undefined, { oid: rootOrg }).then(done(words.unblocked), setFailure)
          }
          missingRule={missing}
        >
          {words.unblock}
        </ActionButton>
        {user.is_active ? (
          <ActionButton
            onAction={() =>
              ask({
                title: words.deactivateTitle(user.username),
                text: words.deactivateText,
                action: words.deactivate,
                act: () => setActive(false),
              })
            }
            missingRule={missing}
            reason={ofOneself}
          >
            {words.deactivate}
          </ActionButton>
        ) : (
          <ActionButton onAction={() => void setActive(true).catch(setFailure)} missingRule={missing}>
            {words.activate}
          </ActionButton>
        )}
        <ActionButton
          kind="danger"
          onAction={() =>
            ask({
              title: words.removeTitle(user.username),
              text: words.removeText,
              action: words.remove,
              act: async () => {
                await send('DELETE', path, undefined, { oid: rootOrg });
                navigate(usersLink);
              },
            })
          }
          missingRule={missingToDelete}
          reason={ofOneself}
        >
          {words.remove}
        </ActionButton>
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {dialog}
    </>
  );
}

function UserFacts({ user }: { user: UserRecord }) {
  const time = (timestamp: string | null): string => (timestamp === null ? words.never : formatDate(timestamp));
  const facts: readonly (readonly [name: string, value: string])[] = [
    [words.username, user.username],
    [words.email, user.email ?? texts.access.none],
    [words.comment, user.comment === '' ? texts.access.none : user.comment],
    [words.groups, user.groups.length === 0 ? texts.access.none : user.groups.join(', ')],
    [words.lastLogin, time(user.last_login)],
    [words.expires, time(user.date_expired)],
    [words.joined, words.joinedBy(formatDate(user.date_joined), user.created_by)],
    [words.id, user.id],
  ];
  return (
    <dl className="facts-list">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Of one user there are few: the number of roles, and of organizations of one person. */
async function readBindings(
  user: string,
  org: string,
  isAuditor: boolean,
  signal: AbortSignal,
): Promise<RoleBinding[]> {
  const options = { limit: maxPageSize, signal };
  const [system, inOrgs] = await Promise.all([
    isAuditor ? readRecords<RoleBinding>(bindingsPath('system'), { user }, options) : { results: [] },
    readRecords<RoleBinding>(bindingsPath('org'), { user, ...(isAuditor ? {} : { org }) }, options),
  ]);
  return [...system.results, ...inOrgs.results];
}

function UserRoles({ user, org, rights, onChanged }: UserViewProps) {
  const [isGiving, setGiving] = useState(false);
  const orgs = useOrgs();
  const { id } = user;
  const { isAuditor } = rights;
  const read = useCallback((signal: AbortSignal) => readBindings(id, org, isAuditor, signal), [id, org, isAuditor]);
  const { value, failure, reload } = useReading(read);
  const changed = (): void => {
    reload();
    onChanged();
  };
  const mine = orgs.filter((each) => rights.isAdministrator || rights.hasOrgRole(each.id, 'OrgAdmin'));
  return (
    <section aria-labelledby="roles">
      <div className="section-head">
        <h2 id="roles">{words.rolesTitle}</h2>
        <ActionButton
          onAction={() => setGiving(true)}
          missingRule={missingForOrgAdmin(rights, 'role-bindings.create', org)}
        >
          {texts.access.orgs.giveRole}
        </ActionButton>
      </div>
      <p>{words.rolesIntro}</p>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? undefined : (
        <RoleBindingTable label={words.rolesTitle} bindings={value} hide="user" onRemoved={changed} />
      )}
      {isGiving ? (
        <GiveRoleDialog
          user={id}
          orgs={mine}
          mayGiveSystemRoles={rights.isAdministrator}
          onGiven={changed}
          onClose={() => setGiving(false)}
        />
      ) : undefined}
    </section>
  );
}
