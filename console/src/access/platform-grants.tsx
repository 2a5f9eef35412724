import { useCallback, useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { missingRule } from '../server/missing-rule.ts';
import { usePermissions } from '../server/permissions.ts';
import { objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import type { OrgRecord, UserRecord } from './access-api.ts';
import type { AccessRights } from './access-rights.ts';
import { ConfirmDialog, type Question } from '../interface/confirm-dialog.tsx';
import { MissingNote, useOrgs } from './org-chooser.tsx';
import {
  clusterRoleBindingModel,
  maxBindings,
  platformGroupsOf,
  readGrants,
  readPlatformRole,
  roleBindingModel,
  takeRole,
  type Grant,
  type PolicyRule,
} from './platform-bindings.ts';
import { RecordTable } from './record-table.tsx';
import { useReading } from './use-records.ts';

const words = texts.access.platform;

interface ReadGrants {
  grants: readonly Grant[] | undefined;
  notes: ReactNode;
  reload: () => void;
}

/** The grants that the user may read in a namespace, or everywhere, and what is missing. */
export function useGrants(namespace: string): ReadGrants {
  const may = usePermissions('');
  const mayThere = usePermissions(namespace);
  const cluster = may({ verb: 'list', model: clusterRoleBindingModel });
  const namespaced = mayThere({ verb: 'list', model: roleBindingModel });
  const read = useCallback(
    (signal: AbortSignal) => readGrants({ namespace, cluster, namespaced }, signal),
    [namespace, cluster, namespaced],
  );
  const { value, failure, reload } = useReading(read);
  return {
    grants: value?.grants,
    reload,
    notes: (
      <>
        {cluster ? undefined : (
          <MissingNote rule={missingRule({ verb: 'list', model: clusterRoleBindingModel, namespace: '' })} />
        )}
        {namespaced ? undefined : (
          <MissingNote rule={missingRule({ verb: 'list', model: roleBindingModel, namespace })} />
        )}
        {failure === undefined ? undefined : <FailureNote failure={failure} />}
        {value?.isCut === true ? <p className="note warning">{words.cut(maxBindings)}</p> : undefined}
      </>
    ),
  };
}

/** So many rows are read by nobody: the filter finds the others. */
const maxRows = 200;

interface GrantTableProps {
  label: string;
  grants: readonly Grant[];
  orgs: readonly OrgRecord[];
  onTaken: () => void;
}

export function GrantTable({ label, grants, orgs, onTaken }: GrantTableProps) {
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  return (
    <>
      <RecordTable
        label={label}
        records={grants.slice(0, maxRows)}
        keyOf={({ binding, subject }) => `${binding.metadata.uid} ${subject.kind} ${subject.name}`}
        empty={words.none}
        columns={[
          { title: words.who, cell: ({ subject }) => <Who kind={subject.kind} name={subject.name} orgs={orgs} /> },
          {
            title: words.may,
            cell: ({ role, namespace }) => <RoleCell kind={role.kind} name={role.name} namespace={namespace} />,
          },
          { title: words.where, cell: ({ namespace }) => <Where namespace={namespace} orgs={orgs} /> },
          { title: words.by, cell: ({ binding }) => <BindingLink binding={binding} /> },
          {
            title: texts.access.bindings.action,
            cell: (grant) => <TakeAction grant={grant} onAsk={setQuestion} onTaken={onTaken} />,
          },
        ]}
      />
      {grants.length > maxRows ? <p>{words.more(grants.length - maxRows)}</p> : undefined}
      {question === undefined ? undefined : (
        <ConfirmDialog question={question} onClose={() => setQuestion(undefined)} />
      )}
    </>
  );
}

const roleTitle = (name: string): string => (texts.access.roleNames as Readonly<Record<string, string>>)[name] ?? name;

/** A group of a role in an organization is named as that role. */
function Who({ kind, name, orgs }: { kind: string; name: string; orgs: readonly OrgRecord[] }) {
  const [, id, role] = /^org:([0-9a-f-]{36}):(\w+)$/.exec(kind === 'Group' ? name : '') ?? [];
  const org = orgs.find((each) => each.id === id);
  return (
    <>
      {org === undefined ? name : words.roleIn(roleTitle(role!), org.name)}{' '}
      <small>{org === undefined ? (words.kinds[kind] ?? kind) : words.kinds['Group']}</small>
    </>
  );
}

function Where({ namespace, orgs }: { namespace: string; orgs: readonly OrgRecord[] }) {
  if (namespace === '') return words.everywhere;
  const org = orgs.find((each) => each.namespace === namespace);
  return (
    <>
      {namespace} {org === undefined ? undefined : <small>{org.name}</small>}
    </>
  );
}

function BindingLink({ binding: { kind, metadata } }: { binding: Grant['binding'] }) {
  const model = kind === 'ClusterRoleBinding' ? clusterRoleBindingModel : roleBindingModel;
  const { namespace = '', name } = metadata;
  return (
    <>
      <Link href={objectLink(model, { namespace, name })}>{name}</Link> <small>{kind}</small>
    </>
  );
}

/** The role, and what it permits when it is opened. */
function RoleCell({ kind, name, namespace }: { kind: string; name: string; namespace: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {name} <small>{kind}</small>
      </summary>
      {isOpen ? <RoleRules kind={kind} name={name} namespace={namespace} /> : undefined}
    </details>
  );
}

function RoleRules({ kind, name, namespace }: { kind: string; name: string; namespace: string }) {
  const read = useCallback(
    (signal: AbortSignal) => readPlatformRole({ kind, name }, namespace, signal),
    [kind, name, namespace],
  );
  const { value, failure } = useReading(read);
  if (failure !== undefined) return <FailureNote failure={failure} />;
  if (value === undefined) return <p role="status">{texts.loading}</p>;
  if (value.length === 0) return <p>{words.noRules}</p>;
  return (
    <ul className="rules">
      {value.map((rule) => (
        <li key={JSON.stringify(rule)}>
          <Rule rule={rule} />
        </li>
      ))}
    </ul>
  );
}

function Rule({
  rule: { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] },
}: {
  rule: PolicyRule;
}) {
  const what = apiGroups.flatMap((group) =>
    resources.map((resource) => (group === '' ? resource : `${resource}.${group}`)),
  );
  const all = (names: readonly string[], text: string): string => (names.includes('*') ? text : names.join(', '));
  return (
    <>
      <strong>{all(verbs, words.everyVerb)}</strong>{' '}
      {what.includes('*.*') ? words.everything : [...what, ...nonResourceURLs].join(', ')}
      {resourceNames.length === 0 ? undefined : ` ${words.named(resourceNames.join(', '))}`}
    </>
  );
}

interface TakeActionProps {
  grant: Grant;
  onAsk: (question: Question) => void;
  onTaken: () => void;
}

function TakeAction({ grant, onAsk, onTaken }: TakeActionProps) {
  const { namespace, binding, role, subject } = grant;
  const may = usePermissions(namespace);
  const model = namespace === '' ? clusterRoleBindingModel : roleBindingModel;
  const { name } = binding.metadata;
  const verb = (binding.subjects ?? []).length > 1 ? 'patch' : 'delete';
  const ask = (): void =>
    onAsk({
      title: texts.access.bindings.takeTitle(role.name, subject.name),
      text: /^(?:svc|system):/.test(name) ? words.takeBuiltin(name) : words.takeText(name, binding.kind),
      action: texts.access.bindings.take,
      act: async () => {
        await takeRole(grant);
        onTaken();
      },
    });
  return (
    <ActionButton
      onAction={ask}
      missingRule={may({ verb, model, name }) ? undefined : missingRule({ verb, model, namespace, name })}
    >
      {texts.access.bindings.take}
    </ActionButton>
  );
}

interface PlatformGrantsOfProps {
  user: UserRecord;
  org: string;
  rights: AccessRights;
}

/** What a user may do on the platform, by name and by each group. */
export function PlatformGrantsOf({ user, org, rights }: PlatformGrantsOfProps) {
  const orgs = useOrgs();
  const namespace = rights.isAuditor ? '' : (orgs.find(({ id }) => id === org)?.namespace ?? '');
  const { grants, notes, reload } = useGrants(namespace);
  const groups = platformGroupsOf(user, org);
  const mine = grants?.filter(({ subject: { kind, name } }) =>
    kind === 'User' ? name === user.username : kind === 'Group' && groups.includes(name),
  );
  return (
    <section aria-labelledby="platform">
      <h2 id="platform">{words.ofUser}</h2>
      <p>{words.ofUserIntro}</p>
      {notes}
      {mine === undefined ? undefined : <GrantTable label={words.ofUser} grants={mine} orgs={orgs} onTaken={reload} />}
    </section>
  );
}
