import { useTitle } from '../interface/use-title.ts';
import { texts } from '../texts/texts.ts';
import { AccessKeys } from './access-keys.tsx';
import { OwnSessions } from './own-sessions.tsx';
import { PersonalTokens } from './personal-tokens.tsx';

const words = texts.access.credentials;

/** The user's own tokens, access keys and sessions, as in the user center. Those of others are theirs: nobody reads them. */
export function CredentialsPage() {
  useTitle(words.title);
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <p>
        {words.intro} <a href="/uc/">{texts.userCenter.name}</a>
      </p>
      <PersonalTokens />
      <AccessKeys />
      <OwnSessions />
    </>
  );
}
