import { PageDialog } from '../interface/page-dialog.tsx';
import { texts } from '../texts/texts.ts';
import { LoginForm } from './login-form.tsx';

/** Asks for the password again, over the page with what was typed there. */
export default function LoginDialog({ username }: { username: string }) {
  return (
    <PageDialog title={texts.login.again} isDismissable={false} onClose={() => undefined}>
      <p>{texts.login.expired(username)}</p>
      <LoginForm username={username} />
    </PageDialog>
  );
}
