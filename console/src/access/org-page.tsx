import { useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { formatDate, texts } from '../texts/texts.ts';
import { bindingsPath, onePath, orgsPath, send, shownRecord, type OrgRecord, type RoleBinding } from './access-api.ts';
import { orgsLink, rightsLink, usersLink } from './access-links.ts';
import {
  missingForAdministrator,
  missingForOrgAdmin,
  missingForReader,
  useAccessRights,
  type AccessRights,
} from './access-rights.ts';
import { ConfirmDialog } from '../interface/confirm-dialog.tsx';
import { MissingNote } from './org-chooser.tsx';
import { EditOrgDialog, GiveRoleDialog } from './org-forms.tsx';
import { Paging } from './record-table.tsx';
import { RoleBindingTable } from './role-bindings.tsx';
import { useRecord, useRecords } from './use-records.ts';
import { useViewParams } from './view-params.ts';

const words = texts.access.orgs;

/** One organization, and who has which role in it. */
export function OrgPage({ id }: { id: string }) {
  const rights = useAccessRights();
  const { value: org, failure, reload } = useRecord<OrgRecord>(onePath(orgsPath, id));
  useTitle(org?.name ?? words.title);
  return (
    <>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {org === undefined || rights === undefined ? (
        failure === undefined && <p role="status">{texts.loading}</p>
      ) : (
        <OrgView org={org} rights={rights} onChanged={reload} />
      )}
    </>
  );
}

interface OrgViewProps {
  org: OrgRecord;
  rights: AccessRights;
  onChanged: () => void;
}

function OrgView({ org, rights, onChanged }: OrgViewProps) {
  const { namespace } = org;
  return (
    <>
      <div className="page-head">
        <h1>{org.name}</h1>
        <SnippetAction request={shownRecord(onePath(orgsPath, org.id))} />
        <OrgActions org={org} rights={rights} onChanged={onChanged} />
      </div>
      <dl className="facts-list">
        <div>
          <dt>{words.comment}</dt>
          <dd>{org.comment === '' ? texts.access.none : org.comment}</dd>
        </div>
        <div>
          <dt>{texts.namespace.label}</dt>
          <dd>
            {namespace === null ? (
              texts.access.none
            ) : (
              <Link href={`${rightsLink}?ns=${encodeURIComponent(namespace)}`}>{namespace}</Link>
            )}
            {namespace === null || org.namespace_ready ? undefined : ` ${words.notReady}`}
          </dd>
        </div>
        <div>
          <dt>{words.created}</dt>
          <dd>{texts.access.users.joinedBy(formatDate(org.date_created), org.created_by)}</dd>
        </div>
      </dl>
      {org.is_root ? <p>{words.rootIntro}</p> : <Members org={org} rights={rights} />}
      <p>
        <Link href={`${usersLink}?org=${encodeURIComponent(org.id)}`}>{words.users}</Link>
      </p>
    </>
  );
}

function OrgActions({ org, rights, onChanged }: OrgViewProps) {
  const [, navigate] = useLocation();
  const [dialog, setDialog] = useState<ReactNode>(undefined);
  const close = (): void => setDialog(undefined);
  const builtin = org.builtin ? words.builtin : undefined;
  return (
    <>
      <ActionButton
        onAction={() => setDialog(<EditOrgDialog org={org} onChanged={onChanged} onClose={close} />)}
        missingRule={missingForAdministrator(rights, 'orgs.change')}
        reason={builtin}
      >
        {words.edit}
      </ActionButton>
      <ActionButton
        kind="danger"
        onAction={() =>
          setDialog(
            <ConfirmDialog
              question={{
                title: words.removeTitle(org.name),
                text: words.removeText,
                action: words.remove,
                act: async () => {
                  await send('DELETE', onePath(orgsPath, org.id));
                  navigate(orgsLink);
                },
              }}
              onClose={close}
            />,
          )
        }
        missingRule={missingForAdministrator(rights, 'orgs.delete')}
        reason={builtin}
      >
        {words.remove}
      </ActionButton>
      {dialog}
    </>
  );
}

function Members({ org, rights }: Omit<OrgViewProps, 'onChanged'>) {
  const view = useViewParams();
  const [isAdding, setAdding] = useState(false);
  const missing = missingForReader(rights, 'role-bindings.view', org.id);
  const { value, failure, reload } = useRecords<RoleBinding>(
    missing === undefined ? bindingsPath('org') : undefined,
    { org: org.id, order: 'date_created' },
    view.page,
  );
  return (
    <section aria-labelledby="members">
      <div className="section-head">
        <h2 id="members">{words.members}</h2>
        <ActionButton
          kind="primary"
          onAction={() => setAdding(true)}
          missingRule={missingForOrgAdmin(rights, 'role-bindings.create', org.id)}
        >
          {words.giveRole}
        </ActionButton>
      </div>
      {missing === undefined ? undefined : <MissingNote rule={missing} />}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? undefined : (
        <RoleBindingTable label={words.members} bindings={value.results} hide="org" onRemoved={reload} />
      )}
      <Paging page={value} />
      {isAdding ? (
        <GiveRoleDialog org={org} mayGiveSystemRoles={false} onGiven={reload} onClose={() => setAdding(false)} />
      ) : undefined}
    </section>
  );
}
