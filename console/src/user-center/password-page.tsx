import { useState } from 'react';
import { profilePath, send } from '../access/access-api.ts';
import { RecordForm, type FormValues } from '../access/record-form.tsx';
import { useObservable } from '../server/observable.ts';
import { session } from '../server/server.ts';
import { texts } from '../texts/texts.ts';

const words = texts.userCenter.password;
const { users } = texts.access;

/** A new password, which takes the one before. */
export default function PasswordPage() {
  const state = useObservable(session);
  const [note, setNote] = useState('');
  const [count, setCount] = useState(0);
  const change = async ({ revoke_credentials: revokes, ...passwords }: FormValues): Promise<void> => {
    setNote('');
    const isRevoking = revokes !== '';
    await send('PUT', `${profilePath}password/`, { ...passwords, revoke_credentials: isRevoking });
    setNote(isRevoking ? words.revoked : words.changed);
  };
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <div className="user-center-form">
        <p>{words.intro}</p>
        <RecordForm
          key={count}
          username={state.name === 'user' ? state.user.username : ''}
          submit={words.submit}
          fields={[
            {
              name: 'old_password',
              label: words.old,
              kind: 'password',
              isRequired: true,
              autoComplete: 'current-password',
            },
            {
              name: 'new_password',
              label: users.newPassword,
              kind: 'password',
              isRequired: true,
              hint: users.passwordRules,
            },
            { name: 'new_password_again', label: words.again, kind: 'password', isRequired: true },
            { name: 'revoke_credentials', label: words.revoke, kind: 'flag' },
          ]}
          onSubmit={change}
          onDone={() => setCount(count + 1)}
        />
        <p role="status">{note}</p>
      </div>
    </>
  );
}
