import { useState } from 'react';
import { profilePath, send, type UserRecord } from '../access/access-api.ts';
import { RecordForm, type FormValues, type RecordField } from '../access/record-form.tsx';
import { timeText } from '../access/time-text.ts';
import { useRecord } from '../access/use-records.ts';
import { Fact } from '../interface/fact.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useUnsaved } from '../interface/unsaved.ts';
import { formatDate, texts } from '../texts/texts.ts';

const words = texts.userCenter.profile;
const { users } = texts.access;

/** Who the user is, and what they say of themself. */
export function ProfilePage() {
  const { value: user, failure, reload } = useRecord<UserRecord>(profilePath);
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {user === undefined ? (
        failure === undefined && <p role="status">{texts.loading}</p>
      ) : (
        <>
          <section aria-labelledby="account">
            <h2 id="account">{words.account}</h2>
            <p>{words.given}</p>
            <AccountFacts user={user} />
          </section>
          <section aria-labelledby="about" className="user-center-form">
            <h2 id="about">{words.about}</h2>
            <ProfileForm user={user} onSaved={reload} />
          </section>
        </>
      )}
    </>
  );
}

function AccountFacts({ user }: { user: UserRecord }) {
  return (
    <dl className="facts-list">
      <Fact name={users.username}>{user.username}</Fact>
      <Fact name={users.roles}>{namesOrNone(user.system_roles.map((role) => role.display_name))}</Fact>
      <Fact name={words.groups}>{namesOrNone(user.groups)}</Fact>
      <Fact name={words.since}>{formatDate(user.date_joined)}</Fact>
      <Fact name={users.expires}>{timeText(user.date_expired)}</Fact>
      <Fact name={users.lastLogin}>{timeText(user.last_login)}</Fact>
    </dl>
  );
}

const namesOrNone = (names: readonly string[]): string => names.join(', ') || texts.access.none;

function ProfileForm({ user, onSaved }: { user: UserRecord; onSaved: () => void }) {
  const [isChanged, setChanged] = useState(false);
  const [note, setNote] = useState('');
  useUnsaved(isChanged);
  const fields: RecordField[] = [
    { name: 'name', label: users.name, isRequired: true, value: user.name, autoComplete: 'name' },
    {
      name: 'email',
      label: users.email,
      kind: 'email',
      // Who has an address may have another one, but not none.
      isRequired: user.email !== null,
      value: user.email ?? '',
      autoComplete: 'email',
    },
    { name: 'comment', label: users.comment, kind: 'lines', value: user.comment },
  ];
  /** Only what was changed is sent: an administrator may have changed the rest. */
  const save = async (values: FormValues): Promise<void> => {
    setNote('');
    const changed = fields.filter(({ name, value }) => values[name] !== value).map(({ name }) => [name, values[name]]);
    if (changed.length > 0) await send('PATCH', profilePath, Object.fromEntries(changed) as object);
    setNote(changed.length > 0 ? words.saved : words.unchanged);
  };
  return (
    <>
      <RecordForm
        submit={words.save}
        fields={fields}
        onSubmit={save}
        onChange={(isOther) => {
          setChanged(isOther);
          setNote('');
        }}
        onDone={() => {
          setChanged(false);
          onSaved();
        }}
      />
      <p role="status">{note}</p>
    </>
  );
}
