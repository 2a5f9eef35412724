import { useState, type ReactNode } from 'react';
import { appearance, appearances, setAppearance } from '../interface/appearance.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { mayLeave } from '../interface/unsaved.ts';
import { useObservable } from '../server/observable.ts';
import { logOut, type SessionUser } from '../server/server.ts';
import { texts } from '../texts/texts.ts';

interface AccountDialogProps {
  user: SessionUser;
  /** Leads to the other pages of the user. */
  children: ReactNode;
  onClose: () => void;
}

export default function AccountDialog({ user, children, onClose }: AccountDialogProps) {
  const chosen = useObservable(appearance);
  const [failure, setFailure] = useState<unknown>(undefined);
  const leave = (): void => {
    if (mayLeave()) void logOut().catch(setFailure);
  };
  return (
    <PageDialog title={texts.login.loggedInAs(user.username)} onClose={onClose}>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      <fieldset>
        <legend>{texts.appearance.label}</legend>
        {appearances.map((each) => (
          <label key={each} className="check">
            <input type="radio" name="appearance" checked={chosen === each} onChange={() => setAppearance(each)} />
            {texts.appearance[each]}
          </label>
        ))}
      </fieldset>
      <p>{children}</p>
      <div className="buttons">
        <button type="button" className="button plain" onClick={leave}>
          {texts.login.logOut}
        </button>
        <button type="button" className="button plain" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </PageDialog>
  );
}
