import { useCallback, useState } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { missingRule } from '../server/missing-rule.ts';
import { usePermissions } from '../server/permissions.ts';
import { NamespaceChooser } from '../shell/namespace-chooser.tsx';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { texts } from '../texts/texts.ts';
import { bindingsPath, rolesPath, shownPage, type AccessRole, type RoleBinding, type RoleScope } from './access-api.ts';
import { rightsLink } from './access-links.ts';
import { missingForAdministrator, missingForOrgAdmin, type AccessRights } from './access-rights.ts';
import { FilterForm } from './filter-form.tsx';
import { FormDialog } from './form-dialog.tsx';
import { MissingNote, OrgChooser, useChosenOrg, useOrgs } from './org-chooser.tsx';
import { GiveRoleDialog } from './org-forms.tsx';
import { clusterRoleBindingModel, giveRole, readClusterRoleNames, roleBindingModel } from './platform-bindings.ts';
import { GrantTable, useGrants } from './platform-grants.tsx';
import { Paging, RecordTable } from './record-table.tsx';
import { RoleBindingTable } from './role-bindings.tsx';
import { useReading, useRecords } from './use-records.ts';
import { useViewParams } from './view-params.ts';

const words = texts.access.rights;

/** Who may do what: on the content platform, and in access management. */
export function RightsPage() {
  useTitle(words.title);
  const view = useViewParams();
  const of = view.get('of') === 'access' ? 'access' : 'platform';
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <nav className="tabs" aria-label={words.of}>
        <Link href={rightsLink} aria-current={of === 'platform' ? 'page' : undefined}>
          {words.platform}
        </Link>
        <Link href={`${rightsLink}?of=access`} aria-current={of === 'access' ? 'page' : undefined}>
          {words.access}
        </Link>
      </nav>
      {of === 'platform' ? <PlatformRights /> : <RolesOfAccess />}
    </>
  );
}

function PlatformRights() {
  const view = useViewParams();
  const orgs = useOrgs();
  const [isGiving, setGiving] = useState(false);
  const namespace = view.get('ns');
  const { grants, notes, reload } = useGrants(namespace);
  const may = usePermissions(namespace);
  const model = namespace === '' ? clusterRoleBindingModel : roleBindingModel;
  const wanted = view.get('who').toLowerCase();
  const shown = grants?.filter(({ subject, role }) =>
    [subject.name, role.name].some((name) => name.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <p>{words.platformIntro}</p>
      <div className="view-head">
        <NamespaceChooser value={namespace} onChange={(ns) => view.set({ ns })} />
        <FilterForm fields={[{ name: 'who', label: words.filter, kind: 'search' }]} />
        <SnippetAction
          request={[
            { model: clusterRoleBindingModel, namespace: '' },
            { model: roleBindingModel, namespace },
          ]}
        />
        <ActionButton
          kind="primary"
          onAction={() => setGiving(true)}
          missingRule={may({ verb: 'create', model }) ? undefined : missingRule({ verb: 'create', model, namespace })}
        >
          {texts.access.orgs.giveRole}
        </ActionButton>
      </div>
      {notes}
      {shown === undefined ? undefined : (
        <GrantTable label={words.platform} grants={shown} orgs={orgs} onTaken={reload} />
      )}
      {isGiving ? (
        <GivePlatformRoleDialog namespace={namespace} onGiven={reload} onClose={() => setGiving(false)} />
      ) : undefined}
    </>
  );
}

interface GivePlatformRoleDialogProps {
  namespace: string;
  onGiven: () => void;
  onClose: () => void;
}

function GivePlatformRoleDialog({ namespace, onGiven, onClose }: GivePlatformRoleDialogProps) {
  const read = useCallback((signal: AbortSignal) => readClusterRoleNames(signal), []);
  const { value: names = [] } = useReading(read);
  return (
    <FormDialog
      title={texts.access.orgs.giveRole}
      submit={texts.access.orgs.give}
      intro={words.giveIntro}
      fields={[
        {
          name: 'kind',
          label: words.whom,
          kind: ['User', 'Group'].map((kind) => ({ value: kind, label: texts.access.platform.kinds[kind]! })),
          value: 'User',
        },
        { name: 'name', label: words.whomName, isRequired: true },
        { name: 'role', label: words.clusterRole, isRequired: true, suggestions: names },
        { name: 'namespace', label: texts.namespace.label, hint: words.namespaceHint, value: namespace },
      ]}
      onSubmit={async (values) => {
        await giveRole({
          subject: { kind: values['kind']!, name: values['name']!.trim() },
          role: { kind: 'ClusterRole', name: values['role']!.trim() },
          namespace: values['namespace']!.trim(),
        });
        onGiven();
      }}
      onClose={onClose}
    />
  );
}

function RolesOfAccess() {
  const { org, rights } = useChosenOrg();
  if (rights === undefined) return <p role="status">{texts.loading}</p>;
  return (
    <>
      <p>{words.accessIntro}</p>
      {org === undefined ? (
        <MissingNote rule={texts.access.needs.reader('role-bindings.view')} />
      ) : (
        <Bindings org={org} rights={rights} />
      )}
      <RoleList />
    </>
  );
}

function Bindings({ org, rights }: { org: string; rights: AccessRights }) {
  const view = useViewParams();
  const orgs = useOrgs();
  const [isGiving, setGiving] = useState(false);
  const scope: RoleScope = view.get('scope') === 'system' && rights.isAuditor ? 'system' : 'org';
  const orgOfQuery = view.get('org');
  const query = { user: view.get('user'), order: '-date_created', ...(scope === 'org' ? { org: orgOfQuery } : {}) };
  const { value, failure, reload } = useRecords<RoleBinding>(bindingsPath(scope), query, view.page);
  const mine = orgs.filter((each) => rights.isAdministrator || rights.hasOrgRole(each.id, 'OrgAdmin'));
  const missing =
    scope === 'system'
      ? missingForAdministrator(rights, 'role-bindings.create')
      : missingForOrgAdmin(rights, 'role-bindings.create', org);
  return (
    <section aria-labelledby="bindings">
      <div className="section-head">
        <h2 id="bindings">{words.bindings}</h2>
        <SnippetAction request={shownPage(bindingsPath(scope), query, view.page)} />
        <ActionButton kind="primary" onAction={() => setGiving(true)} missingRule={missing}>
          {texts.access.orgs.giveRole}
        </ActionButton>
      </div>
      <FilterForm
        before={scope === 'org' ? <OrgChooser org={org} rights={rights} /> : undefined}
        fields={[
          {
            name: 'scope',
            label: texts.access.orgs.where,
            kind: [
              { value: '', label: words.inOrganizations },
              ...(rights.isAuditor ? [{ value: 'system', label: texts.access.orgs.wholeSystem }] : []),
            ],
          },
          { name: 'user', label: texts.access.users.username, kind: 'search' },
        ]}
      />
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? undefined : (
        <RoleBindingTable label={words.bindings} bindings={value.results} onRemoved={reload} />
      )}
      <Paging page={value} />
      {isGiving ? (
        <GiveRoleDialog
          orgs={mine}
          mayGiveSystemRoles={rights.isAdministrator}
          onGiven={reload}
          onClose={() => setGiving(false)}
        />
      ) : undefined}
    </section>
  );
}

function RoleList() {
  const { value } = useRecords<AccessRole>(rolesPath, {});
  return (
    <section aria-labelledby="roles">
      <h2 id="roles">{words.roles}</h2>
      {value === undefined ? undefined : (
        <RecordTable
          label={words.roles}
          records={value.results}
          keyOf={({ id }) => id}
          empty={texts.access.none}
          columns={[
            { title: texts.access.orgs.role, cell: ({ display_name: name }) => name },
            {
              title: texts.access.orgs.where,
              cell: ({ scope }) => (scope === 'system' ? texts.access.orgs.wholeSystem : words.inOne),
            },
            {
              title: words.permissions,
              cell: ({ permissions }) =>
                permissions.includes('*') ? texts.access.platform.everything : permissions.join(', '),
            },
          ]}
        />
      )}
    </section>
  );
}
