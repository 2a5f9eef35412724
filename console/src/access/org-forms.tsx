import { texts } from '../texts/texts.ts';
import { bindingsPath, onePath, orgsPath, send, type OrgRecord, type RoleBinding } from './access-api.ts';
import { FormDialog } from './form-dialog.tsx';
import { type RecordField } from './record-form.tsx';

const words = texts.access.orgs;

const fieldsOf = (org?: OrgRecord): RecordField[] => [
  { name: 'name', label: words.name, isRequired: true, value: org?.name ?? '' },
  { name: 'comment', label: words.comment, kind: 'lines', value: org?.comment ?? '' },
];

export function NewOrgDialog({ onCreated, onClose }: { onCreated: (org: OrgRecord) => void; onClose: () => void }) {
  return (
    <FormDialog
      title={words.create}
      submit={words.createAction}
      intro={words.createIntro}
      fields={fieldsOf()}
      onSubmit={async (values) => onCreated(await send<OrgRecord>('POST', orgsPath, values))}
      onClose={onClose}
    />
  );
}

interface EditOrgDialogProps {
  org: OrgRecord;
  onChanged: () => void;
  onClose: () => void;
}

export function EditOrgDialog({ org, onChanged, onClose }: EditOrgDialogProps) {
  return (
    <FormDialog
      title={words.editTitle(org.name)}
      submit={words.save}
      fields={fieldsOf(org)}
      onSubmit={async (values) => {
        await send('PATCH', onePath(orgsPath, org.id), values);
        onChanged();
      }}
      onClose={onClose}
    />
  );
}

const orgRoles = ['OrgUser', 'OrgAdmin', 'OrgAuditor'] as const;
const systemRoles = ['SystemAdmin', 'SystemAuditor', 'SystemUser'] as const;

interface GiveRoleDialogProps {
  /** Fixed, or chosen in the form. */
  user?: string;
  org?: OrgRecord;
  /** To choose from. */
  orgs?: readonly OrgRecord[];
  mayGiveSystemRoles: boolean;
  onGiven: () => void;
  onClose: () => void;
}

/** Gives a user a role: in one organization, which makes the user a member, or in the whole system. */
export function GiveRoleDialog({ user, org, orgs = [], mayGiveSystemRoles, onGiven, onClose }: GiveRoleDialogProps) {
  const places = orgs.filter(({ is_root: isRoot }) => !isRoot).map(({ id, name }) => ({ value: id, label: name }));
  const ofUser: RecordField = {
    name: 'user',
    label: texts.access.users.username,
    isRequired: true,
    hint: words.memberHint,
  };
  const ofOrg: RecordField = {
    name: 'org',
    label: texts.access.organization,
    kind: places,
    value: places[0]?.value ?? '',
    ...(mayGiveSystemRoles ? { hint: words.whereHint } : {}),
  };
  const hasSystemRoles = org === undefined && mayGiveSystemRoles;
  const ofRole: RecordField = {
    name: 'role',
    label: words.role,
    kind: [
      ...orgRoles.map((name) => ({ value: name, label: texts.access.roleNames[name] })),
      ...(hasSystemRoles
        ? systemRoles.map((name) => ({ value: name, label: words.ofSystem(texts.access.roleNames[name]) }))
        : []),
    ],
    value: 'OrgUser',
  };
  return (
    <FormDialog
      title={org === undefined ? words.giveRole : words.giveRoleIn(org.name)}
      submit={words.give}
      fields={[...(user === undefined ? [ofUser] : []), ofRole, ...(org === undefined ? [ofOrg] : [])]}
      onSubmit={async ({ role, user: typed, org: place = org?.id }) => {
        const body = { user: user ?? typed, role };
        if (systemRoles.some((name) => name === role)) await send<RoleBinding>('POST', bindingsPath('system'), body);
        else await send<RoleBinding>('POST', bindingsPath('org'), { ...body, org: place });
        onGiven();
      }}
      onClose={onClose}
    />
  );
}
