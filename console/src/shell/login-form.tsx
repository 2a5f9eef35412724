import { useEffect, useRef, useState, type FormEvent } from 'react';
import { logIn } from '../server/server.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { texts } from '../texts/texts.ts';

export function LoginForm({ username = '' }: { username?: string }) {
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const fields = useRef<HTMLFormElement>(null);
  // There is nothing else to do here.
  useEffect(
    () => fields.current?.querySelector<HTMLElement>(username === '' ? '[name=username]' : '[name=password]')?.focus(),
    [username],
  );
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    // Each attempt counts, and wrong ones lock the account.
    if (isBusy) return;
    const form = event.currentTarget;
    const text = (name: string): string => form.querySelector<HTMLInputElement>(`[name=${name}]`)!.value;
    setBusy(true);
    setFailure(undefined);
    try {
      await logIn(text('username'), text('password'));
    } catch (error) {
      setFailure(error);
      form.querySelector<HTMLInputElement>('[name=password]')?.focus();
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={fields} className="login" onSubmit={(event) => void submit(event)}>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      <label>
        {texts.login.username}
        <input name="username" autoComplete="username" required defaultValue={username} autoCapitalize="none" />
      </label>
      <label>
        {texts.login.password}
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button type="submit" className="button primary" aria-disabled={isBusy}>
        {texts.login.submit}
      </button>
    </form>
  );
}
