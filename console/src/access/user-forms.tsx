import { texts } from '../texts/texts.ts';
import { onePath, rootOrg, send, usersPath, type UserRecord } from './access-api.ts';
import { FormDialog } from './form-dialog.tsx';
import { localTime, namesOf, timestampOf, type FormValues, type RecordField } from './record-form.tsx';

const words = texts.access.users;

function detailFields(user?: UserRecord): RecordField[] {
  return [
    { name: 'name', label: words.name, isRequired: true, value: user?.name ?? '' },
    { name: 'email', label: words.email, kind: 'email', isRequired: user?.email !== null, value: user?.email ?? '' },
    { name: 'comment', label: words.comment, kind: 'lines', value: user?.comment ?? '' },
    { name: 'date_expired', label: words.expires, kind: 'time', value: localTime(user?.date_expired ?? null) },
  ];
}

const groupsOf = (user?: UserRecord): RecordField => ({
  name: 'groups',
  label: words.groups,
  hint: words.groupsHint,
  value: user?.groups.join(', ') ?? '',
});

interface NewUserDialogProps {
  /** The user becomes a member; of ROOT, of none. */
  org: string;
  orgName: string;
  mayGiveGroups: boolean;
  onCreated: (user: UserRecord) => void;
  onClose: () => void;
}

export function NewUserDialog({ org, orgName, mayGiveGroups, onCreated, onClose }: NewUserDialogProps) {
  const create = async (values: FormValues): Promise<void> => {
    const { groups = '', date_expired: expires = '', password = '', ...others } = values;
    const body = {
      ...others,
      date_expired: timestampOf(expires),
      ...(password === '' ? {} : { password }),
      ...(groups === '' ? {} : { groups: namesOf(groups) }),
    };
    onCreated(await send<UserRecord>('POST', usersPath, body, { oid: org }));
  };
  return (
    <FormDialog
      title={words.create}
      submit={words.createAction}
      intro={org === rootOrg ? words.createInNone : words.createIn(orgName)}
      fields={[
        { name: 'username', label: words.username, isRequired: true, hint: words.usernameHint },
        ...detailFields(),
        ...(mayGiveGroups ? [groupsOf()] : []),
        { name: 'password', label: words.password, kind: 'password', hint: words.passwordHint },
      ]}
      onSubmit={create}
      onClose={onClose}
    />
  );
}

interface UserDialogProps {
  user: UserRecord;
  onChanged: () => void;
  onClose: () => void;
}

/** Only what was changed is sent, so that two people can change different fields. */
export function EditUserDialog({ user, onChanged, onClose }: UserDialogProps) {
  const fields = [...detailFields(user), groupsOf(user)];
  const change = async (values: FormValues): Promise<void> => {
    const changed = fields.filter(({ name, value = '' }) => values[name] !== value).map(({ name }) => name);
    const body = Object.fromEntries(
      changed.map((name) => {
        const text = values[name]!;
        return [name, name === 'groups' ? namesOf(text) : name === 'date_expired' ? timestampOf(text) : text];
      }),
    );
    if (changed.length > 0) await send('PATCH', onePath(usersPath, user.id), body, { oid: rootOrg });
    onChanged();
  };
  return (
    <FormDialog
      title={words.editTitle(user.username)}
      submit={words.save}
      fields={fields}
      onSubmit={change}
      onClose={onClose}
    />
  );
}

export function PasswordDialog({ user, onChanged, onClose }: UserDialogProps) {
  const change = async ({ password, revoke_credentials: revokes }: FormValues): Promise<void> => {
    await send(
      'PATCH',
      onePath(usersPath, user.id),
      { password, revoke_credentials: revokes !== '' },
      { oid: rootOrg },
    );
    onChanged();
  };
  return (
    <FormDialog
      title={words.passwordTitle(user.username)}
      submit={words.passwordAction}
      intro={words.passwordIntro}
      fields={[
        { name: 'password', label: words.newPassword, kind: 'password', isRequired: true, hint: words.passwordRules },
        { name: 'revoke_credentials', label: words.revokeCredentials, kind: 'flag', value: 'true' },
      ]}
      onSubmit={change}
      onClose={onClose}
    />
  );
}
